// Runs an exported policy in Node.js and compares it with the golden pairs of its metadata.
//
//   npm install --ignore-scripts
//   node check.mjs policy.onnx

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import * as ort from "onnxruntime-node";

const file = process.argv[2];
if (!file) {
  console.error("usage: node check.mjs policy.onnx");
  process.exit(2);
}
const bytes = await readFile(file); // one self-contained file: bytes are enough
const metadata = JSON.parse(await readFile(`${file}.metadata.json`, "utf8"));
if (createHash("sha256").update(bytes).digest("hex") !== metadata.sha256) {
  console.error(`${file} is not the file its metadata describes (sha256 differs)`);
  process.exit(1);
}

const session = await ort.InferenceSession.create(bytes);
const tensor = (values, shape) => new ort.Tensor("float32", Float32Array.from(values), shape);

// The golden pairs are consecutive: a recurrent policy starts at zero and carries its state from pair to pair.
const ports = session.inputNames.filter((name) => name !== "obs");
const state = {};
for (const port of ports) {
  const shape = metadata.recurrent.state_shape;
  state[port] = tensor(new Array(shape.reduce((a, b) => a * b)).fill(0), shape);
}

let worst = 0;
for (const pair of metadata.golden) {
  const outputs = await session.run({ obs: tensor(pair.obs, [1, metadata.obs_dim]), ...state });
  for (const port of ports) state[port] = outputs[port.replace("_in", "_out")];
  const actions = outputs.actions.data;
  if (actions.length !== metadata.action_dim) throw new Error(`${actions.length} actions`);
  pair.actions.forEach((expected, i) => {
    const error = Math.abs(actions[i] - expected);
    worst = Number.isNaN(error) ? Infinity : Math.max(worst, error);
  });
}

const passed = worst <= metadata.self_check.tolerance;
console.log(
  `${metadata.golden.length} golden pairs, max error ${worst.toExponential(1)}: ${passed ? "passed" : "FAILED"}`,
);
process.exit(passed ? 0 : 1);

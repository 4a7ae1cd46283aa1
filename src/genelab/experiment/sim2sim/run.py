"""A sim2sim comparison from request to record: contract, open and closed loop, baseline, attribution, matrix."""

import time
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from genelab.core.config import digest
from genelab.core.errors import RunStopped
from genelab.core.files import prepare_output, without_infinities, write_json, write_result, write_text
from genelab.core.ranges import Positive, check
from genelab.core.registry import find, find_installed
from genelab.engines import ENGINES
from genelab.envs import ManagerBasedRlEnvCfg
from genelab.experiment import provenance
from genelab.experiment.inference import find_checkpoint, load_policy, resolve_policy
from genelab.experiment.paired import PairedEnv, make_env
from genelab.experiment.setup import Say
from genelab.experiment.sim2sim import contract
from genelab.experiment.sim2sim.attribution import HALF_DT, MOVES, Behaviour, Move, applicable, attribute, cost, moved
from genelab.experiment.sim2sim.closed_loop import MARGIN_SHARE, SIGNIFICANT, Episodes, compare_episodes, run_episodes
from genelab.experiment.sim2sim.open_loop import Motion, make_scripts, part, replay
from genelab.experiment.sim2sim.page import gap_page
from genelab.rl.backends.base import Policy
from genelab.rl.checkpoint import INFO_KEY
from genelab.rl.evaluator import plan

JSON_FILE, PAGE_FILE = "sim2sim.json", "sim2sim.html"
UNUSED = {
    "env.num_envs": "a comparison takes its number of worlds from --episodes",
    "env.simulation.engine": "the engines come from --engines",
    "env.simulation.steps": "a comparison is as long as its episodes",
    "env.simulation.vis": "a comparison shows no window; use play",
}


@dataclass(frozen=True)
class Sim2SimRequest:
    """What the user asked to compare."""

    task: str
    checkpoint: str | None = None
    """A file, a run directory, ``bundled``, ``bundled:<task>``; None takes the newest local or the bundled one."""
    engines: tuple[str, ...] = ("mujoco", "genesis")
    episodes: int = 32
    seed: int = 0
    margin: float | None = None
    pushes: bool = True
    attribute: bool = False
    matrix: tuple[str, ...] = ()
    """More checkpoints or run directories."""
    overrides: list[tuple[str, str]] = field(default_factory=list)
    out: Path = Path("sim2sim")


def run_sim2sim(request: Sim2SimRequest, say: Say = print) -> dict[str, Any]:
    """Compare, write sim2sim.json and sim2sim.html, and return the record. A broken contract raises `RunStopped`."""
    began = time.perf_counter()
    find(request.task)
    for engine in request.engines:
        find_installed("engine", engine, ENGINES)
    check("--margin", request.margin, Positive | None)
    path = find_checkpoint(request.checkpoint, request.task, say)
    others = [find_checkpoint(run, request.task, say) for run in request.matrix]
    prepare_output(request.out / JSON_FILE)
    lab = _Lab(request, path, say)
    record = lab.record
    structural = [difference for difference in lab.check_contract() if difference.structural]
    if not structural:
        lab.run()
        if request.attribute:
            lab.attribute()
        if others:
            lab.cross_test(others)
    lab.close()
    record["passed"] = not structural and all(c["verdict"] != "gap" for c in record["comparisons"].values())
    record["wall_clock_seconds"] = round(time.perf_counter() - began, 1)
    record = without_infinities(record)
    write_result(request.out / JSON_FILE, lambda path: write_json(path, record))
    write_result(request.out / PAGE_FILE, lambda path: write_text(path, gap_page(record)))
    if structural:
        more = f" (and {len(structural) - 1} more in {request.out / JSON_FILE})" if len(structural) > 1 else ""
        raise RunStopped(f"the policy would not control the same robot: {structural[0]}{more}")
    return record


class _Lab:
    """The policy in every engine, and the record that is made of it."""

    def __init__(self, request: Sim2SimRequest, path: Path, say: Say):
        self._request, self._path, self._say = request, path, say
        self._protocol = plan(request.episodes, num_envs=64)
        self._cfg, self._checkpoint = self._resolve(path)
        infos = self._checkpoint[INFO_KEY]
        trained_in = infos.get("engine")
        self._source = source = trained_in if trained_in in ENGINES else request.engines[0]
        if source not in request.engines:
            say(f"the policy was trained in {source}: that is what the others are compared with")
        self._targets = [engine for engine in request.engines if engine != source]
        self._envs = {engine: make_env(self._cfg, engine, request.seed) for engine in (source, *self._targets)}
        self.record: dict[str, Any] = {
            "task": request.task,
            "checkpoint": str(path),
            "source": source,
            "engines": list(self._envs),
            "seed": request.seed,
            "num_episodes": self._protocol.episodes,
            "num_envs": self._protocol.num_envs,
            "episodes_per_env": self._protocol.episodes_per_env,
            "pushes": request.pushes,
            "control_dt": self._cfg.control_dt,
            "evaluated_at": provenance.now(),
            "config_hash": digest(self._cfg),
            **provenance.stamp("genesis-world", "mujoco-warp"),
            "machine": provenance.machine(),
            "trained": {key: infos.get(key) for key in ("seed", "preset", "engine", "backend", "git_commit")},
        }

    def check_contract(self) -> list[contract.Difference]:
        """Compare names, layouts and numbers before anything is run."""
        contracts = {engine: contract.contract_of(env) for engine, env in self._envs.items()}
        recorded, note = contract.recorded_contract(self._path)
        notes = [note] if note else []
        notes += [f"{name} does not report {what}" for name, c in contracts.items() for what in contract.unreported(c)]
        source = contracts[self._source]
        found = contract.differences(recorded, source, whole_scene=False) if recorded is not None else []
        found += [d for engine in self._targets for d in contract.differences(source, contracts[engine])]
        differences = [asdict(difference) for difference in found]
        broken = any(difference.structural for difference in found)
        self.record["contract"] = {"broken": broken, "differences": differences, "notes": notes}
        for line in [*notes, *map(str, found or ["no differences"])]:
            self._say(f"contract: {line}")
        return found

    def run(self) -> None:
        """Closed loop in every engine, open loop, statistics, and the source engine against itself."""
        seed, given, record = self._request.seed, self._request.margin, self.record
        self._episodes = {engine: self._run(env, engine) for engine, env in self._envs.items()}
        source = self._episodes[self._source]
        margin = given or MARGIN_SHARE * abs(float(source.values["return"].mean()))
        rule = "given" if given else f"{100 * MARGIN_SHARE:g} % of the mean return in {self._source}"
        record["margin"] = {"value": margin, "rule": rule}
        self._say(f"margin: {margin:.4g} of return ({rule})")
        self._scripts = make_scripts(self._envs[self._source], source.trace)
        self._motions = {engine: self._replay(env) for engine, env in self._envs.items()}
        record["open_loop"] = {engine: self._parting(self._motions[engine]) for engine in self._targets}
        self._half_dt = self._with_settings(HALF_DT)
        other_seeds = self._run(self._envs[self._source], f"{self._source}, other seeds", seed + 1)
        record["closed_loop"] = {}
        for engine, run in self._episodes.items():
            values = {name: array.tolist() for name, array in {**run.values, "fallen": run.fallen}.items()}
            record["closed_loop"][engine] = {"episodes": values, "seconds": round(run.seconds, 2)}
        record["comparisons"] = {e: compare_episodes(source, self._episodes[e], margin, seed) for e in self._targets}
        half_dt = compare_episodes(source, self._half_dt.episodes, margin, seed)
        half_dt["open_loop"] = self._parting(self._half_dt.motions)
        reseeded = compare_episodes(source, other_seeds, margin, seed)
        record["self_baseline"] = {"half dt": half_dt, "other seeds": reseeded}
        for engine, comparison in record["comparisons"].items():
            for name, metric in comparison["metrics"].items():
                own = half_dt["metrics"].get(name, metric)["difference"]
                metric["clear"] = metric["p_holm"] < SIGNIFICANT and abs(metric["difference"]) > abs(own)
            if not comparison["same_schedule"]:
                raise RunStopped(f"{engine} drew other random numbers than {self._source}: its episodes are no pairs")

    def attribute(self) -> None:
        """Move one parameter of the source engine at a time: what that costs, and what explains each gap."""
        env = make_env(self._cfg, self._source, self._request.seed)  # worlds of its own, whose model is moved about
        tried: dict[Move, Behaviour] = {HALF_DT: self._half_dt}
        if not self._targets:
            self._scripts = {}  # they are for the gap
        for move in [move for move in MOVES if move not in tried and applicable(move, env)]:
            if move.fields:
                with moved(env, move):
                    tried[move] = self._behave(env, move.label)
            else:
                tried[move] = self._with_settings(move)
        env.close()
        source, seed = self._episodes[self._source], self._request.seed
        self.record["moves"] = [
            {"parameter": move.parameter, "tried": move.label, **cost(source, behaviour.episodes, seed)}
            for move, behaviour in tried.items()
        ]
        known = {engine: Behaviour(self._motions[engine], self._episodes[engine]) for engine in self._envs}
        self.record["attribution"] = {e: attribute(known[self._source], known[e], tried) for e in self._targets}

    def cross_test(self, others: list[Path]) -> None:
        """Every policy in every engine: trained in A, tested in B."""
        rows = [self._matrix_row(self._path, self._checkpoint, self._episodes)]
        for path in others:
            cfg, checkpoint = self._resolve(path)
            same, runs = digest(cfg) == digest(self._cfg), {}
            for engine, env in self._envs.items():
                with nullcontext(env) if same else closing(make_env(cfg, engine, self._request.seed)) as own:
                    runs[engine] = self._run(own, f"{path} in {engine}", policy=load_policy(own, checkpoint))
            rows.append(self._matrix_row(path, checkpoint, runs))
        self.record["matrix"] = rows

    def close(self) -> None:
        for env in self._envs.values():
            env.close()

    def _resolve(self, path: Path) -> tuple[ManagerBasedRlEnvCfg, dict[str, Any]]:
        """The play config with the task's pushes, whatever the policy was trained with, and the checkpoint."""
        request = self._request
        setup, checkpoint = resolve_policy(request.task, path, request.overrides, unused=UNUSED, say=self._say)
        cfg = setup.env_cfg
        cfg.num_envs = self._protocol.num_envs
        if request.pushes:
            training = setup.spec.env_cfg(play=False).events.items()
            cfg.events = {**{name: event for name, event in training if event.mode == "interval"}, **cfg.events}
        return cfg, checkpoint

    def _run(self, env: PairedEnv, label: str, seed: int | None = None, policy: Policy | None = None) -> Episodes:
        policy = policy or load_policy(env, self._checkpoint)
        seed = self._request.seed if seed is None else seed
        episodes = run_episodes(env, policy, seed, self._protocol.episodes_per_env, label)
        mean, falls = episodes.values["return"].mean(), int(episodes.fallen.sum())
        self._say(f"{label}: return {mean:.3f}, {falls} of {len(episodes.fallen)} fell, {episodes.seconds:.1f} s")
        return episodes

    def _replay(self, env: PairedEnv) -> dict[str, Motion]:
        return {name: replay(env, script) for name, script in self._scripts.items()}

    def _behave(self, env: PairedEnv, label: str) -> Behaviour:
        return Behaviour(self._replay(env), self._run(env, f"{self._source}, {label}"))

    def _with_settings(self, move: Move) -> Behaviour:
        with closing(make_env(self._cfg, self._source, self._request.seed, **move.settings)) as env:
            return self._behave(env, move.label)

    def _parting(self, motions: dict[str, Motion]) -> dict[str, Any]:
        source = self._motions[self._source]
        return {name: part(source[name], motion, self._cfg.control_dt) for name, motion in motions.items()}

    def _matrix_row(self, path: Path, checkpoint: dict[str, Any], runs: dict[str, Episodes]) -> dict[str, Any]:
        infos = checkpoint[INFO_KEY]
        at_home = runs.get(infos.get("engine"), runs[self._source])
        tested = {}
        for engine, run in runs.items():
            gap = compare_episodes(at_home, run, self.record["margin"]["value"], self._request.seed)
            metric = gap["metrics"]["return"]
            tested[engine] = {"return_mean": metric["target"], "fall_rate": float(run.fallen.mean())}
            tested[engine] |= {key: metric[key] for key in ("difference", "ci95")}
        origin = {"trained_in": infos.get("engine"), "seed": infos.get("seed")}
        return {"checkpoint": str(path), **origin, "tested_in": tested}

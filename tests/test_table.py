"""Tables, and the tables that managers print of themselves."""

import pytest

from genelab.core.registry import find
from genelab.core.table import Table
from genelab.envs import ManagerBasedRlEnv

TABLE = Table(("name", "weight", "text"), [("alive", 1.0, "a [b] c"), ("fallen", -2e-5, None)], title="rewards")


def test_a_table_has_its_title_its_columns_and_a_line_per_row():
    assert TABLE.text() == "\n".join(
        (
            "rewards",
            "name     weight   text",
            "─────────────────────────",
            "alive         1   a [b] c",
            "fallen   -2e-05",
        )
    )


def test_cells_wrap_in_a_narrow_terminal_and_lose_nothing():
    words = "eight words that do not fit on one line"
    table = Table(("name", "text"), [("row", words)])
    lines = table.text(width=24).splitlines()
    assert all(len(line) <= 24 for line in lines)
    assert " ".join(" ".join(lines[2:]).split()) == f"row {words}"


def test_names_in_the_first_column_stay_whole_as_long_as_there_is_room_for_the_rest():
    table = Table(("name", "text"), [("a-name-of-twenty-characters", "words to wrap " * 10)])
    assert table.text(width=60).splitlines()[2].startswith("a-name-of-twenty-characters ")
    assert max(map(len, table.text(width=30).splitlines())) <= 30


def test_markdown_escapes_the_bar():
    assert Table(("a", "b"), [("x|y", True)]).markdown() == "| a | b |\n| --- | --- |\n| x\\|y | yes |"


def test_columns_with_nothing_in_them_are_left_out_of_the_text_and_kept_in_the_data():
    table = Table(("name", "noise", "size"), [("a", None, 1), ("b", "", 2)])
    assert table.text().splitlines()[0] == "name   size"
    assert table.records()[0] == {"name": "a", "noise": None, "size": 1}


def test_a_column_can_be_put_behind_another_one():
    table = Table(("name", "size"), [("a", 1)]).with_column("name", "unit", ["m"])
    assert (table.columns, table.rows) == (("name", "unit", "size"), [("a", "m", 1)])


def test_a_row_must_fit_its_columns():
    with pytest.raises(ValueError, match="1 cells for 2 columns"):
        Table(("a", "b"), [("x",)])


@pytest.fixture(scope="module")
def env() -> ManagerBasedRlEnv:
    cfg = find("Genelab-Velocity-Flat-Unitree-Go1-v0").env_cfg()
    cfg.num_envs = 1
    return ManagerBasedRlEnv(cfg)


def test_rewards_print_weight_docstring_and_parameters(env: ManagerBasedRlEnv):
    [line] = [line for line in str(env.reward_manager).splitlines() if line.startswith("height ")]
    assert line.split()[1] == "-1"
    assert "Squared difference of the root's height" in line
    assert line.endswith("height=0.34")


def test_observations_print_a_table_per_group_with_sizes_and_the_noise_that_is_applied(env: ManagerBasedRlEnv):
    policy, critic = env.observation_manager.tables()
    assert policy.title == "observations: policy (45)"
    row = dict(zip(policy.columns, policy.rows[0], strict=True))
    assert (row["name"], row["size"], row["noise"]) == ("ang_vel", 3, "±0.2")
    assert row["description"] == "Angular velocity of the root body in its own frame."
    assert {row[2] for row in critic.rows} == {None}


def test_the_environment_prints_every_term_of_its_config(env: ManagerBasedRlEnv):
    cfg = env.cfg
    printed = {row[0] for table in env.tables() for row in table.rows}
    groups = [cfg.actions, cfg.commands, cfg.rewards, cfg.terminations, cfg.events, cfg.metrics]
    groups += [group.terms for group in cfg.observations.values()]
    assert {name for terms in groups for name in terms} <= printed
    assert all(str(table) in str(env) for table in env.tables())

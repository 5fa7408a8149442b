"""``slowfade train``: flags, and what is said about wrong ones."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from slowfade import cores, tasks
from slowfade.errors import UserError
from slowfade.training import Training, configure
from slowfade.training.command import command_line, main, parse, usage
from slowfade.training.config import Config


def flags_of(task: str, core: str) -> list[str]:
    """All names on the command line."""
    parts = command_line(tasks.build(task), core)()
    own = [field.name for field in dataclasses.fields(parts) if field.name not in ("task", "network", "training")]
    return own + [
        field.name for part in (parts.task, parts.network, parts.training) for field in dataclasses.fields(part)
    ]


@pytest.mark.parametrize("core", cores.names())
@pytest.mark.parametrize("task", tasks.names())
def test_no_flag_means_two_things(task: str, core: str) -> None:
    names = flags_of(task, core)
    assert len(names) == len(set(names)), sorted(name for name in names if names.count(name) > 1)


@pytest.mark.parametrize("task", tasks.names())
def test_help_explains_every_flag(task: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as status:
        parse([task, "--core", "sru", "--help"])
    assert not status.value.code
    told = capsys.readouterr().out
    for name in flags_of(task, "sru"):
        assert "--" + name.replace("_", "-") in told


def test_usage_names_all_tasks_and_networks() -> None:
    words = usage().split()
    assert {*tasks.names(), *cores.names()} <= set(words)


def test_defaults_are_the_papers_settings() -> None:
    config, out, quiet = parse(["copying", "--core", "chrono", "--delay", "500"])
    assert config.training.optimizer == "rmsprop"
    assert config.training.clip_norm == 1.0
    assert config.core_options == {"t_max": 750.0}
    assert (out, quiet) == (Path("runs/copying/chrono-0"), False)


def test_every_kind_of_flag() -> None:
    config, out, _ = parse(
        [
            "copying",
            "--core",
            "powerlaw",
            "--delay",
            "20:30",
            "--power",
            "0.3",
            "--no-coupled",
            "--seed",
            "3",
            "--clip-norm",
            "None",
            "--max-steps",
            "7",
            "--out",
            "here",
            "--layers",
            "2",
        ]
    )
    assert config.task_options["delay"] == "20:30"
    assert config.core_options == {"power": 0.3, "power_init": (0.0, 1.0), "epsilon": 1e-3, "coupled": False}
    assert config.training == dataclasses.replace(
        configure("copying").training, seed=3, clip_norm=None, max_steps=7, layers=2
    )
    assert out == Path("here")


def test_the_configuration_survives_its_file() -> None:
    config = parse(["copying", "--core", "sru", "--alphas", "0.0", "0.5"])[0]
    assert Config.from_json(config.to_json()) == config


def test_a_budget_counts_the_network_and_its_head() -> None:
    config = parse(["copying", "--core", "lstm", "--budget", "50000"])[0]
    model = config.build_model(config.build_task())
    count = sum(parameter.numel() for parameter in model.parameters())
    wider = configure("copying", "lstm", hidden=config.training.hidden + 1)
    more = sum(parameter.numel() for parameter in wider.build_model(wider.build_task()).parameters())
    assert abs(count - 50_000) <= abs(more - 50_000)
    assert abs(count - 50_000) < 1000


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("copyin", "there is no task 'copyin'; the tasks are copying,"),
        ("copying --core rnn", "there is no network 'rnn'; the networks are powerlaw,"),
        ("copying --foo 3", "Unrecognized options: --foo"),
        ("copying --core lstm --power 0.3", "Unrecognized options: --power"),
        ("copying --hidden many", "Error parsing --hidden"),
        ("copying --hidden 0", "hidden should be at least 1"),
        ("copying --epochs", "Missing value for argument '--epochs'"),
        ("copying --optimizer sgd", "invalid choice 'sgd' for argument '--optimizer'"),
        ("copying --hidden 3 --budget 3000", "hidden and budget both say how large the network is"),
        ("copying --delay long", "--delay long should be a number"),
        ("copying --dropout 1", "dropout should be at least 0 and less than 1"),
        ("copying --learning-rate 0", "learning_rate should be more than 0"),
        ("copying --best bits --hidden 4 --delay 3", "--best bits: copying measures loss, accuracy, sequence_accuracy"),
        ("copying --core chrono --t-max 1 --hidden 4", "chrono: t_max should be more than 2"),
        ("copying --budget 0", "budget should be at least 1, got 0"),
        ("copying --core nru --budget 1000", "nru has no size near 1,000 parameters; the nearest is 1 units with"),
        ("copying --core goru --budget 20000", "goru has no size near 20,000 parameters; the nearest is 64 units with"),
        ("copying --seed 18446744073709551616", "seed should have at most 64 bits"),
        ("copying --checkpoint-seconds -1", "checkpoint_seconds should be at least 0, got -1"),
        ("copying --core chrono --t-max inf --hidden 4", "chrono: t_max should be finite, got inf"),
        ("copying --core chrono --t-max 1e300 --hidden 4", "chrono: "),
        ("copying --core phased --shift nan --hidden 4", "phased: shift should be finite, got nan"),
        ("copying --core phased --period 1 inf --hidden 4", "phased: period should be finite, got (1.0, inf)"),
        ("copying --power 0.3 --power-init 0 0.5 --hidden 4", "powerlaw: power_init (0.0, 0.5) needs a learned power"),
        ("copying --core eurnn --style fft --capacity 4 --hidden 4", "eurnn: capacity needs style 'tunable'"),
        ("copying --core goru --capacity 4 --hidden 4", "goru: capacity needs style 'tunable'"),
        ("copying --core exprnn --rebase-every 3 --hidden 4", "exprnn: rebase_every and project_every need mode 'dyn"),
        ("irregular --glimpses 3", "--glimpses 3 needs --source pixels"),
        ("copying --devices 3", "a batch of 128 cannot be shared evenly by 3 devices"),
    ],
)
def test_one_line_for_what_cannot_be(flags: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        main([*flags.split(), "--out", str(tmp_path / "run"), "--quiet"])
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_settings_that_are_not_there() -> None:
    with pytest.raises(UserError, match="training has no setting 'rate'"):
        configure("copying", rate=1)
    with pytest.raises(UserError, match="lstm has no option 'power'; it has none"):
        configure("copying", "lstm", core_options={"power": 1})


def test_every_setting_is_documented() -> None:
    lines = (Path(configure.__code__.co_filename)).read_text().splitlines()
    for field in dataclasses.fields(Training):
        where = next(number for number, line in enumerate(lines) if line.startswith(f"    {field.name}: "))
        assert lines[where + 1].strip().startswith('"""'), field.name

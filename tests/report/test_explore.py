"""The explorer: the network in the page computes what PyTorch does, and every control does what it says."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page
from torch import Tensor

from report.conftest import Explorer
from slowfade import analysis, cli, cores
from slowfade.data import tokenise
from slowfade.report import explore
from slowfade.tasks.task import Encoding, Numbers, Symbols, Vectors
from slowfade.training import Encoder, Model, Run
from support import assert_close

NAMES = {True: ["reset", "age", "forget", "cell"], False: ["input", "output", "forget", "cell"]}
STEPS = 60
#: Weights are float32 in the page, and so is what it shows.
SINGLE = 1e-6


@torch.no_grad()
def reference(
    model: Model, inputs: Tensor, dt: Tensor | None = None, off: Sequence[int] = ()
) -> tuple[dict[str, Tensor], Tensor]:
    """PyTorch's trace of one sequence, and its prediction at every step."""
    core = model.core.silenced(off)
    trace = core.trace(model.encoder(inputs[None]), **({} if dt is None else {"dt": dt[None]}))
    kept = NAMES["reset" in trace]
    return {name: trace[name][0] for name in kept}, model.head(trace["hidden"])[0]


def of_sequence(run: Run, number: int, off: Sequence[int] = ()) -> tuple[dict[str, Tensor], Tensor]:
    """The same for a test sequence of a run."""
    batch = run.task.batch("test", torch.tensor([number]))
    length = batch.inputs.shape[1] if batch.lengths is None else int(batch.lengths[0])
    dt = batch.dt[0, :length] if run.model.core.uses_time and batch.dt is not None else None
    return reference(run.model, batch.inputs[0, :length], dt, off)


# ---- the network ----


@pytest.fixture(scope="module")
def script(chromium: Browser) -> Iterator[Page]:
    """A page that holds the network's code and the reader's, and nothing else."""
    page = chromium.new_page()
    page.add_script_tag(content=explore.source("network.js"))
    reader = explore.source("explore.js")
    page.add_script_tag(content=reader[reader.index("const PLAIN") : reader.index("function read(")])
    yield page
    page.close()


def in_the_page(
    page: Page, model: Model, inputs: Tensor, dt: Tensor | None, off: Sequence[int]
) -> tuple[dict[str, Tensor], Tensor]:
    sequence = {"inputs": inputs.tolist()} | ({} if dt is None else {"dt": dt.tolist()})
    found = page.evaluate(
        """([model, sequence, off]) => {
          const { seen, prediction } = run(unpacked(model), sequence, off);
          return [Object.entries(seen).map(([name, values]) => [name, [...values]]), [...prediction]];
        }""",
        [json.loads(json.dumps(explore.pack(model))), sequence, list(off)],
    )
    trace = {name: in_double(values, inputs) for name, values in found[0]}
    return trace, in_double(found[1], inputs)


def in_double(values: list[float], inputs: Tensor) -> Tensor:
    return torch.tensor(values, dtype=torch.float64).view(len(inputs), -1)


def lively(core: str, encoding: Encoding, hidden: int = 10, **options: Any) -> Model:
    """A network whose gates open and close: its weights are larger than fresh ones."""
    encoder = Encoder(encoding)
    network = cores.build(core, encoder.output_size, hidden, batch_first=True, **options)
    model = Model(encoder, network, 3, every_step=True)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "power" not in name:
                parameter.mul_(4)
    return model


@pytest.mark.parametrize(
    ("core", "options"),
    [
        ("powerlaw", {}),
        ("powerlaw", {"coupled": False}),
        ("powerlaw", {"num_layers": 2}),
        ("powerlaw", {"num_layers": 2, "coupled": False, "epsilon": 1e-5}),
        ("powerlaw", {"power": 0.7}),
        ("lstm", {}),
        ("lstm", {"num_layers": 3}),
        ("chrono", {"num_layers": 2, "t_max": 50.0}),
        ("multiscale", {}),
    ],
)
@pytest.mark.parametrize("off", [(), (0, 3, 9)], ids=["on", "off"])
def test_trace_and_prediction_are_pytorchs(
    script: Page, core: str, options: dict[str, Any], off: tuple[int, ...]
) -> None:
    model, inputs = lively(core, Numbers(3), **options), 2 * torch.randn(STEPS, 3)
    times = [None, torch.rand(STEPS) * 3 + 0.01] if model.core.uses_time else [None]
    found = [in_the_page(script, model, inputs, dt, off) for dt in times]
    model.double()
    for (trace, prediction), dt in zip(found, times, strict=True):
        expected = reference(model, inputs.double(), None if dt is None else dt.double(), off)
        assert list(trace) == NAMES[core == "powerlaw"]
        assert_close((trace, prediction), expected, SINGLE)


@pytest.mark.parametrize("units", [1, 2, 3, 5, 7])
def test_any_number_of_units(script: Page, units: int) -> None:
    model, inputs = lively("powerlaw", Numbers(1), units), torch.randn(STEPS, 1)
    found = in_the_page(script, model, inputs, None, ())
    model.double()
    assert_close(found, reference(model, inputs.double()), SINGLE)


@pytest.mark.parametrize("bias", [-14.0, 14.0], ids=["never resets", "always resets"])
def test_old_and_young_units_keep_their_digits(script: Page, bias: float) -> None:
    """Where nothing resets for a thousand steps almost nothing is forgotten, and the rest is in the last digits."""
    model = lively("powerlaw", Symbols(4))
    with torch.no_grad():
        model.core.layer.bias_l0[:10] += bias
    inputs = torch.randint(4, (1000,))
    trace, prediction = in_the_page(script, model, inputs, None, ())
    model.double()
    expected = reference(model, inputs)
    assert_close((trace, prediction), expected, SINGLE)
    if bias < 0:
        assert expected[0]["age"].max() > 500


@pytest.mark.parametrize(
    "encoding", [Symbols(6), Symbols(6, 4), Vectors(torch.randn(6, 5))], ids=["one-hot", "learned", "frozen"]
)
def test_symbols_are_encoded(script: Page, encoding: Encoding) -> None:
    model, inputs = lively("lstm", encoding), torch.randint(6, (STEPS,))
    found = in_the_page(script, model, inputs, None, ())
    model.double()
    assert_close(found, reference(model, inputs), SINGLE)


LETTERS = st.characters(max_codepoint=0x2FF, exclude_categories=["Cs"])
SIGNS = st.sampled_from("abnstdmlrev''’´\x91\x93\x85\x97--..,:<>/ _10½²É\u1c80\ufeff\u2028\x1c!\n")


@given(st.text(LETTERS | SIGNS, max_size=60) | st.text(st.sampled_from("abnstdmlrev'-. _1<br />"), max_size=40))
def test_a_text_is_split_as_in_training(script: Page, text: str) -> None:
    assert script.evaluate("tokenise", text) == tokenise(text)


@pytest.mark.parametrize(
    "text",
    [
        "I don't, can't and won't. It's what they'd've said: we're, I'll, I'm",
        "1,000 at 7:30_\x1cthe_\ufeffboys' 'quoted' ²½. u.²",
        "One.<br /><br />Two<br />three a well-made film--really...no _very_ good (10/10); the U.S. of A.",
        "Don’t \x91quote\x92 a \x93cliché\x94 \x96 no\x85",
        "",
    ],
)
def test_examples_are_split_as_in_training(script: Page, text: str) -> None:
    assert script.evaluate("tokenise", text) == tokenise(text)


# ---- the page ----

Open = Callable[[str], Explorer]


@pytest.mark.parametrize("name", ["copying", "chrono", "async", "adding", "characters", "sentiment"])
def test_the_heat_maps_are_the_trace(opened: Open, name: str) -> None:
    page = opened(name)
    maps = page.maps()
    assert list(maps) == NAMES[page.run.config.core == "powerlaw"]
    assert_close(maps, of_sequence(page.run, 0)[0], 1e-5)


@pytest.mark.parametrize("name", ["copying", "chrono", "async"])
def test_units_are_sorted(opened: Open, name: str) -> None:
    page = opened(name)
    core = page.run.model.core
    decay = core.free_decay(torch.tensor([10.0]))[0]
    assert_close(decay[page.rows()], decay.sort(descending=True).values)
    page.select("unit")
    assert page.rows() == list(range(core.hidden_size))
    if name == "chrono":
        assert page.page.locator("#order option").count() == 2
        return
    assert not page.page.locator("#at").is_visible()
    page.select("reset")
    for step in (int(page.value("at")), 3):
        if page.value("at") != str(step):
            page.set("at", step)
        age = of_sequence(page.run, 0)[0]["age"][step]
        assert_close(age[page.rows()], age.sort(descending=True).values)
    page.set("at", 10_000)
    assert int(page.value("at")) == len(of_sequence(page.run, 0)[1]) - 1
    page.select("decay")
    assert not page.page.locator("#at").is_visible()


def test_copying_is_sorted_by_the_age_before_the_symbols_are_asked_for(opened: Open) -> None:
    page = opened("copying")
    page.select("reset")
    assert page.value("at") == "14"  # 10 symbols and 5 dummies before the signal


def test_sequences_are_chosen(opened: Open) -> None:
    page = opened("chrono")

    def shows(number: int) -> None:
        assert page.value("number") == str(number)
        assert_close(page.maps()["cell"], of_sequence(page.run, number)[0]["cell"], 1e-5)

    page.click("after")
    shows(1)
    page.click("before")
    page.click("before")
    shows(0)
    page.set("number", 5)
    shows(5)
    page.set("number", 1000)
    shows(23)
    for _ in range(5):
        before = page.value("number")
        page.click("any")
        assert page.value("number") != before
    shows(int(page.value("number")))


def test_what_is_said_at_every_step(opened: Open) -> None:
    page = opened("copying")
    batch = page.run.task.batch("test", torch.tensor([0]))
    _, prediction = of_sequence(page.run, 0)
    names = page.run.task.output_names
    said = prediction.argmax(-1)
    spans = page.page.locator("#reading > span").all_inner_texts()
    pairs = zip(batch.inputs[0].tolist(), said.tolist(), strict=True)
    assert [text.split() for text in spans] == [[names[symbol], names[answer]] for symbol, answer in pairs]
    wrong = int((said != batch.targets[0]).sum())
    assert page.page.locator("#reading .wrong").count() == wrong
    right = int((said == batch.targets[0])[-10:].sum())
    assert page.text("verdict") == f"all units: {right} of 10 right"
    (curve,) = page.curves("prediction")
    probability = prediction.softmax(-1).gather(-1, batch.targets[0, :, None])[:, 0]
    assert_close(torch.tensor(curve["y"]), probability, 1e-5)


def test_hovering_tells_unit_step_and_value(opened: Open) -> None:
    page = opened("copying")
    maps, rows = page.maps(), page.rows()
    for n, name in enumerate(maps):
        page.page.mouse.move(*page.in_map(n, row=7, step=12))
        said = page.page.locator("#maps .hoverlayer").get_by_text("unit")
        said.filter(has_text=name).wait_for()
        head, value = said.text_content().rsplit(" ", 1)
        assert head == f"unit {rows[7]}, step 12: {name}"
        assert float(value.replace("−", "-")) == pytest.approx(float(maps[name][12, rows[7]]), rel=1e-3)


@pytest.mark.parametrize("name", ["copying", "chrono", "async"])
def test_a_click_looks_into_a_unit(opened: Open, name: str) -> None:
    page = opened(name)
    assert not page.page.locator("#unit").is_visible()
    row, step = 5, 4
    unit = page.rows()[row]
    page.page.mouse.click(*page.in_map(2, row, step))
    page.page.locator("#unit").wait_for()
    core, (trace, _) = page.run.model.core, of_sequence(page.run, 0)

    assert page.value("unit-number") == str(unit)
    facts = page.text("unit")
    assert facts.startswith(f"Unit {unit}")
    assert "p = " not in facts if name == "chrono" else f"p = {core.layer.power[-1][unit]:.3f}. " in facts
    left = core.free_decay(torch.tensor([10.0, 100.0, 1000.0]))[:, unit]
    clock = "units of time" if name == "async" else "steps"
    for time, share in zip(("10", "100", "1,000"), left.tolist(), strict=True):
        percent = facts.split(f"after {time} {clock} ")[1]
        if share < 1e-4:
            assert percent.startswith("less than 0.01 %")
        else:
            assert float(percent.split(" %")[0]) == pytest.approx(100 * share, rel=0.06)

    shown = {curve["name"]: torch.tensor(curve["y"]) for curve in page.curves("timeline")}
    assert_close(shown, {curve: trace[curve][:, unit] for curve in shown}, 1e-5)
    assert shown.keys() == trace.keys()
    *_, free, real = page.curves("decay")
    assert_close(torch.tensor(free["y"]), core.free_decay(torch.tensor(free["x"], dtype=torch.float32))[:, unit], 1e-5)
    kept = analysis.retained(trace["forget"], step)[:, unit]
    assert_close(torch.tensor(real["y"]), kept.float(), 1e-5)
    assert f"of what its cell held after step {step} is still there" in facts
    if name == "async":
        batch = page.run.task.batch("test", torch.tensor([0]))
        assert real["x"][-1] == pytest.approx(float(batch.dt[0, step + 1 : len(shown["forget"])].sum()), rel=1e-4)

    arrows = "document.getElementById('maps').layout.annotations.filter(({ text }) => text === '▶').map(({ y }) => y)"
    assert page.page.evaluate(arrows) == [row] * 4


def test_a_unit_is_chosen_by_number(opened: Open) -> None:
    page = opened("copying")
    page.type("unit-number", 7)
    assert page.text("unit-name") == "Unit 7"
    page.type("unit-number", 1000)
    assert page.text("unit-name") == "Unit 23"
    # And stays when another sequence comes.
    page.click("after")
    cell = {curve["name"]: torch.tensor(curve["y"]) for curve in page.curves("timeline")}["cell"]
    assert_close(cell, of_sequence(page.run, 1)[0]["cell"][:, 23], 1e-5)


def test_one_unit_is_switched_off(opened: Open) -> None:
    page = opened("copying")
    targets = page.run.task.batch("test", torch.tensor([0])).targets[0, :, None]
    page.type("unit-number", 3)
    page.click("unit-off")
    trace, prediction = of_sequence(page.run, 0, off=[3])
    assert_close(page.maps(), trace, 1e-5)
    before, after = (torch.tensor(curve["y"]) for curve in page.curves("prediction"))
    assert_close(after, prediction.softmax(-1).gather(-1, targets)[:, 0], 1e-5)
    assert_close(before, of_sequence(page.run, 0)[1].softmax(-1).gather(-1, targets)[:, 0], 1e-5)
    assert float((before - after).abs().max()) > 1e-4
    assert page.text("off") == "1 of 24 off: 3"
    assert " · 1 off: " in page.text("verdict")
    page.click("unit-off")
    assert page.text("off") == "all units on"
    assert_close(page.maps(), of_sequence(page.run, 0)[0], 1e-5)
    assert len(page.curves("prediction")) == 1


def test_the_first_units_are_switched_off_and_all_on_again(opened: Open) -> None:
    page = opened("copying")
    slider = page.page.locator("#first")
    page.redrawn(lambda: slider.fill("10"))
    off = page.rows()[:10]
    assert page.text("first-count") == "10"
    assert page.text("off") == f"10 of 24 off: {', '.join(map(str, sorted(off)))}"
    assert_close(page.maps(), of_sequence(page.run, 0, off)[0], 1e-5)
    bars = "document.getElementById('maps').layout.shapes.map(({ y0, y1 }) => [y0, y1])"
    assert page.page.evaluate(bars) == [[-0.5, 9.5]] * 4
    # They stay off in another sequence and another order.
    page.click("after")
    page.select("unit")
    assert_close(page.maps(), of_sequence(page.run, 1, off)[0], 1e-5)
    # One more, one at a time: the slider no longer says which.
    page.type("unit-number", next(unit for unit in range(24) if unit not in off))
    page.click("unit-off")
    assert (slider.input_value(), page.text("first-count")) == ("0", "0")
    assert page.text("off").startswith("11 of 24 off")
    page.click("all-on")
    assert page.text("off") == "all units on"
    assert page.page.locator("#all-on").is_disabled()
    assert page.page.evaluate(bars) == []
    assert_close(page.maps(), of_sequence(page.run, 1)[0], 1e-5)


def test_dragging_the_slider_ends_where_it_ends(opened: Open) -> None:
    page = opened("copying")
    page.redrawn(
        lambda: page.page.evaluate(
            """() => {
              const slider = document.getElementById("first");
              for (let count = 1; count < 20; count++) {
                slider.value = count;
                slider.dispatchEvent(new Event("input"));
              }
            }"""
        )
    )
    assert page.text("off").startswith("19 of 24 off")
    assert_close(page.maps(), of_sequence(page.run, 0, page.rows()[:19])[0], 1e-5)


def test_a_class_is_told_after_the_last_step(opened: Open) -> None:
    page = opened("async")
    page.redrawn(lambda: page.page.locator("#first").fill("6"))
    said = [of_sequence(page.run, 0, off)[1][-1].softmax(-1) for off in ([], page.rows()[:6])]
    names = page.run.task.output_names
    rows = page.page.locator("#classes tbody tr").all_inner_texts()
    expected = [f"{name} {100 * said[0][n]:.1f} % {100 * said[1][n]:.1f} %" for n, name in enumerate(names)]
    assert [" ".join(row.split()) for row in rows] == expected
    target = int(page.run.task.batch("test", torch.tensor([0])).targets[0])
    assert page.text("verdict") == f"should be: {names[target]}"
    (wave,) = page.curves("numbers")
    assert wave["y"] == pytest.approx(page.run.task.batch("test", torch.tensor([0])).inputs[0, : len(wave["y"]), 0])


def test_a_number_is_told_after_the_last_step(opened: Open) -> None:
    page = opened("adding")
    _, prediction = of_sequence(page.run, 0)
    target = float(page.run.task.batch("test", torch.tensor([0])).targets[0])
    assert page.text("verdict") == f"should be: {target:.3f}"
    assert page.text("classes").endswith(f"the number {prediction[-1, 0]:.3f}")
    assert len(page.curves("numbers")) == 2
    assert page.curves("prediction")[0]["y"] == pytest.approx(prediction[:, 0].tolist(), abs=1e-5)


def pasted(page: Explorer, text: str) -> None:
    if not page.page.locator("#text").is_visible():
        page.page.locator("summary").click()
    page.page.locator("#text").fill(text)
    page.click("read")


def test_characters_are_read(opened: Open) -> None:
    page = opened("characters")
    pasted(page, "The cat\nzzz did")
    known = {name: symbol for symbol, name in enumerate(page.run.task.input_names)}
    symbols = [known[name] for name in "the_cat↵_did"]
    assert page.text("notice") == "3 characters that the network does not know were passed over"
    assert_close(page.maps(), reference(page.run.model, torch.tensor(symbols))[0], 1e-5)
    assert page.value("number") == ""
    assert page.text("verdict").endswith("of 11 right")  # nobody knows what follows the last
    page.click("after")
    assert page.value("number") == "1"
    assert page.text("notice") == ""

    pasted(page, "a" * 1500)
    assert page.text("notice") == "the text was cut after 1000 steps"
    assert page.page.locator("#reading > span").count() == 1000
    page.page.locator("#text").fill("zzz")
    page.page.locator("#read").click()
    assert page.text("notice") == "there is nothing in this text that the network knows"


def test_words_are_read(opened: Open) -> None:
    page = opened("sentiment")
    text = "It ISN'T a bore: a <b>warm</b> gem, zounds!"
    pasted(page, text)
    words = tokenise(text)
    names = page.run.task.input_names
    symbols = [names.index(word) if word in names else len(names) - 1 for word in words]
    assert page.page.locator("#reading > span").all_inner_texts() == words
    trace, prediction = reference(page.run.model, torch.tensor(symbols))
    assert_close(page.maps(), trace, 1e-5)
    assert page.text("notice") == "words that the network does not know: :, <, b, >, /, zounds"
    liked = 100 * prediction[-1, 0].sigmoid()
    assert page.text("classes") == f"after the last step all units against {100 - liked:.1f} % for {liked:.1f} %"
    assert page.text("verdict") == ""
    pasted(page, "gem " * 500)
    assert page.text("notice") == "the text was cut after 400 steps"


def test_a_task_without_text_has_no_field_for_one(opened: Open) -> None:
    assert opened("copying").page.locator("#text").count() == 0


def test_zooming_lasts_until_the_rows_change(opened: Open) -> None:
    page = opened("copying")
    shown = "document.getElementById('maps')._fullLayout.xaxis3.range.map(Math.round)"
    whole = page.page.evaluate(shown)
    page.page.mouse.move(*page.in_map(0, 3, 5))
    page.page.mouse.down()
    page.page.mouse.move(*page.in_map(0, 18, 15), steps=5)
    page.page.mouse.up()
    page.page.wait_for_function(f"{shown}[0] >= 4")
    near = page.page.evaluate(shown)  # all maps show the same part
    page.redrawn(lambda: page.page.locator("#first").fill("2"))
    assert page.page.evaluate(shown) == near
    page.click("after")
    assert page.page.evaluate(shown) == whole


def test_light_and_dark(opened: Open) -> None:
    page = opened("copying")
    seen = {}
    for scheme in ("dark", "light"):
        page.redrawn(lambda scheme=scheme: page.page.emulate_media(color_scheme=scheme))
        seen[scheme] = page.page.evaluate(
            """[getComputedStyle(document.body).backgroundColor,
              document.getElementById("maps")._fullLayout.font.color]"""
        )
    page.page.emulate_media(color_scheme="null")
    assert seen == {"dark": ["rgb(22, 24, 26)", "#e6e7e8"], "light": ["rgb(255, 255, 255)", "#1b1c1d"]}


def test_a_narrow_screen_scrolls_one_way(opened: Open) -> None:
    page = opened("copying")
    page.type("unit-number", 3)
    page.page.set_viewport_size({"width": 390, "height": 800})
    page.page.wait_for_function("document.documentElement.scrollWidth <= 390")
    page.page.set_viewport_size({"width": 1280, "height": 900})


@pytest.mark.parametrize(
    ("name", "units", "steps"), [("large", 512, 400), pytest.param("largest", 1024, 1000, marks=pytest.mark.slow)]
)
def test_many_units_and_many_steps(opened: Open, name: str, units: int, steps: int) -> None:
    page = opened(name)
    assert len(page.rows()) == units
    assert page.page.evaluate("document.getElementById('maps').data[3].z.at(-1).length") == steps
    page.page.mouse.click(*page.in_map(0, units // 2, steps // 2))
    page.page.locator("#unit").wait_for()
    # The page answers while the network computes.
    page.page.locator("#first").fill("300")
    page.type("unit-number", 5)
    assert page.text("unit-name") == "Unit 5"
    page.page.wait_for_function("!running")
    assert page.text("off").startswith(f"300 of {units} off")
    answers = page.page.evaluate("[...state.now.prediction]")
    expected = of_sequence(page.run, 0, page.rows()[:300])[1]
    assert_close(torch.tensor(answers).view_as(expected), expected, 1e-4)


# ---- the command ----


def test_the_page_lies_in_the_run(trained: Callable[[str], Run], capsys: pytest.CaptureFixture[str]) -> None:
    run = trained("copying")
    assert cli.main(["explore", str(run.path), "--sequences", "2", "--steps", "20"]) == 0
    page = run.path / "explore.html"
    assert capsys.readouterr().out == f"wrote {page}\n"
    text = page.read_text(encoding="utf-8")
    assert "power-law LSTM on copying" in text
    assert "0 to 1 are in this page" in text
    assert str(run.path) not in text


def test_long_sequences_are_cut(trained: Callable[[str], Run]) -> None:
    run = trained("copying")
    taken = explore.sequence(run.task, run.model.core, 0, 20)
    assert len(taken["inputs"]) == len(taken["targets"]) == 20
    assert taken["asked"] == 0  # the end is not there to be asked for


@pytest.fixture
def served(trained: Callable[[str], Run]) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The command in a process of its own, and its port."""
    command = [sys.executable, "-m", "slowfade", "explore", str(trained("copying").path), "--serve"]
    command += ["--sequences", "3", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        assert line.startswith("http://127.0.0.1:")
        yield process, int(line.removeprefix("http://127.0.0.1:").split()[0])
        process.kill()


def test_serving(
    chromium: Browser,
    served: tuple[subprocess.Popen[str], int],
    trained: Callable[[str], Run],
    capsys: pytest.CaptureFixture[str],
) -> None:
    process, port = served
    tab = chromium.new_page()
    page = Explorer(tab, trained("copying")).open(f"http://127.0.0.1:{port}")
    assert "0 to 29" in tab.content()
    page.set("number", 27)  # not in the page
    assert_close(page.maps(), of_sequence(page.run, 27)[0], 1e-5)
    assert page.complaints == []
    assert all(address.startswith((f"http://127.0.0.1:{port}/", "blob:", "data:")) for address in page.asked_for)

    for path in ("/sequence/30", "/sequence/x", "/../config.json", "/sequence/1/2"):
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", path)
        assert connection.getresponse().status == 404
        connection.close()

    # Only on this address.
    if sys.platform == "linux":
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), timeout=60)

    # Another one cannot have the port.
    assert cli.main(["explore", str(page.run.path), "--serve", "--port", str(port)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"--port {port}: Address already in use" in line

    # The server gone, the page says so, and still has its own sequences.
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert process.stderr.read().splitlines() == ["", "slowfade: stopped"]
    page.type("number", 20)
    tab.wait_for_function("document.getElementById('notice').textContent.startsWith('sequence 20 cannot be had')")
    page.set("number", 2)
    assert_close(page.maps(), of_sequence(page.run, 2)[0], 1e-5)
    tab.close()


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["{gru}"], "explore shows powerlaw, lstm, chrono and multiscale networks; this is a GRU"),
        (["{untrained}"], "has no weights yet"),
        (["{nowhere}"], "holds no config.json"),
        (["{copying}", "--sequences", "0"], "--sequences and --steps should be at least 1"),
        (["{copying}", "--steps", "0"], "--sequences and --steps should be at least 1"),
        (["{copying}", "--serve", "--out", "x.html"], "give one of them"),
        (["{copying}", "--serve", "--port", "65536"], "--port should be 0 to 65535"),
        (["{copying}", "--out", "{copying}/config.json/page.html"], "cannot be written: "),
        (["{copying}", "--out", "{copying}"], "cannot be written: "),
        ([], "Missing from slowfade explore: "),
    ],
)
def test_errors_end_in_one_line(
    trained: Callable[[str], Run],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    flags: list[str],
    complaint: str,
) -> None:
    untrained = tmp_path / "untrained"
    untrained.mkdir()
    (untrained / "config.json").write_bytes((trained("copying").path / "config.json").read_bytes())
    places = {name: trained(name).path for name in ("gru", "copying")} | {
        "untrained": untrained,
        "nowhere": tmp_path / "nowhere",
    }
    capsys.readouterr()
    assert cli.main(["explore", *(flag.format(**places) for flag in flags)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("slowfade: ")
    assert complaint in line
    assert not os.path.exists("x.html")

"""Derivatives of the layer, first and second, against finite differences, on every engine and over every option."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from slowfade import PowerLawLSTM
from support import assert_close, derivatives, everything

OPTIONS: list[dict[str, Any]] = [
    {},
    {"coupled": False},
    {"bias": False},
    {"power": 0.6},
    {"proj_size": 2},
    {"num_layers": 2},
    {"bidirectional": True},
    {"num_layers": 2, "bidirectional": True, "proj_size": 1, "coupled": False, "bias": False},
]
GIVEN: list[dict[str, Any]] = [{}, {"dt": True}, {"lengths": [3, 0]}, {"dt": True, "lengths": [1, 3]}]


def name_of(options: dict[str, Any]) -> str:
    return ",".join(options) or "plain"


def problem(options: dict[str, Any], given: dict[str, Any], engine: str) -> tuple[Callable[..., Any], list[Tensor]]:
    """The layer as a function of all that it can be differentiated by."""
    steps, batch, inputs, hidden = 3, 2, 2, 3
    layer = PowerLawLSTM(inputs, hidden, engine=engine, dtype=torch.float64, **options)
    names = [name for name, _ in layer.named_parameters()]
    rows = layer.num_layers * layer.directions
    tensors = {
        "x": torch.randn(steps, batch, inputs, dtype=torch.float64),
        "h": torch.randn(rows, batch, layer.proj_size or hidden, dtype=torch.float64),
        "c": torch.randn(rows, batch, hidden, dtype=torch.float64),
        "age": torch.rand(rows, batch, hidden, dtype=torch.float64) * 3,
    }
    if "dt" in given:
        tensors["dt"] = torch.rand(steps, batch, dtype=torch.float64) + 0.1

    def run(*values: Tensor) -> tuple[Tensor, ...]:
        named = dict(zip([*tensors, *names], values, strict=True))
        parameters = {name: named[name] for name in names}
        keywords = {"dt": named.get("dt"), "lengths": given.get("lengths")}
        # As a user does it: with no transform around it, functional_call only swaps the parameters in.
        output, end = torch.func.functional_call(
            layer, parameters, (named["x"], (named["h"], named["c"], named["age"])), keywords
        )
        return output, *end

    inputs_of_run = [*tensors.values(), *(parameter.detach() for parameter in layer.parameters())]
    return run, [tensor.requires_grad_() for tensor in inputs_of_run]


@pytest.mark.parametrize("given", GIVEN, ids=name_of)
@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
@pytest.mark.usefixtures("unchecked")
def test_first_derivatives(engine: str, options: dict[str, Any], given: dict[str, Any]) -> None:
    """Entry by entry on the engines that are fast; along random directions on the reference."""
    assert torch.autograd.gradcheck(*problem(options, given, engine), fast_mode=engine == "reference")


@pytest.mark.parametrize("given", [{}, {"dt": True, "lengths": [1, 3]}], ids=name_of)
@pytest.mark.parametrize("options", OPTIONS, ids=name_of)
@pytest.mark.usefixtures("unchecked")
def test_second_derivatives(engine: str, options: dict[str, Any], given: dict[str, Any]) -> None:
    run, inputs = problem(options, given, engine)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "slowfade differentiates a gradient on its reference engine")
        assert torch.autograd.gradgradcheck(run, inputs, fast_mode=True)


def test_backward_in_eval_mode_is_that_in_training(engine: str) -> None:
    layer, x = PowerLawLSTM(3, 4, 2, engine=engine), torch.randn(6, 2, 3)
    expected = everything(layer, x)
    assert_close(everything(layer.eval(), x), expected, 0.0)


def test_the_graph_can_be_kept_and_used_again(engine: str) -> None:
    layer, x = PowerLawLSTM(3, 4, engine=engine), torch.randn(6, 2, 3)
    output, _ = layer(x)
    first = torch.autograd.grad(output.sum(), layer.weight_hh_l0, retain_graph=True)
    second = torch.autograd.grad(output.sum(), layer.weight_hh_l0)
    assert_close(first, second, 0.0)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(output.sum(), layer.weight_hh_l0)


def test_only_some_outputs_reach_the_loss(engine: str) -> None:
    """A loss of the output alone, or of one part of the final state, is the whole one with zero weights elsewhere."""
    layer, x = PowerLawLSTM(3, 4, engine=engine), torch.randn(6, 2, 3)
    output, state = layer(x)
    for part in (output, *state):
        weight = torch.randn_like(part)
        zeros = sum((other * 0).sum() for other in (output, *state))
        found = torch.autograd.grad((part * weight).sum(), layer.weight_ih_l0, retain_graph=True)
        expected = torch.autograd.grad((part * weight).sum() + zeros, layer.weight_ih_l0, retain_graph=True)
        assert_close(found, expected)


def test_an_input_in_many_places_adds_up(engine: str) -> None:
    """x as input and as dt and as the power's logit: the gradient is the sum of the partial ones."""
    layer, base = PowerLawLSTM(1, 4, engine=engine, dtype=torch.float64), torch.rand(4, dtype=torch.float64) + 0.1

    def outputs(x: Tensor, dt: Tensor, logit: Tensor) -> Tensor:
        parameters = dict(layer.named_parameters()) | {"power_logit_l0": logit}
        return torch.func.functional_call(layer, parameters, (x.view(4, 1, 1),), {"dt": dt})[0]

    together = base.clone().requires_grad_()
    apart = {name: base.clone().requires_grad_() for name in ("x", "dt", "logit")}
    found = derivatives([outputs(together, together, together)], {"x": together})
    expected = derivatives([outputs(**apart)], apart)
    assert_close(found["gradient of x"], sum(expected.values()))


def test_many_gradients_at_once(engine: str) -> None:
    layer, x = PowerLawLSTM(3, 4, engine=engine), torch.randn(6, 2, 3, requires_grad=True)
    output, _ = layer(x)
    outside = torch.randn(5, *output.shape)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", DeprecationWarning)
        (found,) = torch.autograd.grad(output, x, outside, retain_graph=True, is_grads_batched=True)
    expected = torch.stack([torch.autograd.grad(output, x, one, retain_graph=True)[0] for one in outside])
    assert_close(found, expected)

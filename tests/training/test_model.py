"""Encoders, the model, the optimisers."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from slowfade import cores
from slowfade.tasks.task import Batch, Numbers, Symbols, Vectors
from slowfade.training import Encoder, Model, configure, optimizers


def test_symbols_are_one_hot_unless_they_have_a_width() -> None:
    symbols = torch.tensor([[0, 2], [1, 1]], dtype=torch.uint8)
    plain = Encoder(Symbols(3))
    assert torch.equal(plain(symbols), nn.functional.one_hot(symbols.long(), 3).float())
    assert not list(plain.parameters())
    learned = Encoder(Symbols(3, 5))
    assert learned(symbols).shape == (2, 2, learned.output_size) == (2, 2, 5)
    assert [tuple(parameter.shape) for parameter in learned.parameters()] == [(3, 5)]


def test_frozen_vectors_and_numbers() -> None:
    table = torch.randn(4, 2)
    frozen = Encoder(Vectors(table))
    assert torch.equal(frozen(torch.tensor([[3, 0]])), table[[3, 0]].unsqueeze(0))
    assert not list(frozen.parameters())
    assert not frozen.state_dict()
    x = torch.randn(2, 3, 7)
    assert Encoder(Numbers(7))(x) is x


@pytest.mark.parametrize("every_step", [True, False])
def test_a_row_does_not_depend_on_its_padding(every_step: bool) -> None:
    model = Model(Encoder(Numbers(2)), cores.build("powerlaw", 2, 5, batch_first=True), 3, every_step)
    x, dt = torch.randn(2, 6, 2), torch.rand(2, 6)
    lengths = torch.tensor([4, 6])
    padded, _ = model(Batch(x, torch.zeros(2), lengths, dt))
    alone, _ = model(Batch(x[:1, :4], torch.zeros(1), None, dt[:1, :4]))
    assert torch.allclose(padded[:1, :4] if every_step else padded[:1], alone, atol=1e-6)


def test_time_is_given_to_those_who_can_tell_it() -> None:
    batch = Batch(torch.randn(1, 4, 2), torch.zeros(1), None, torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    for name in ("powerlaw", "lstm"):
        model = Model(Encoder(Numbers(2)), cores.build(name, 2, 5, batch_first=True), 1, False)
        slow, quick = model(batch)[0], model(batch._replace(dt=torch.ones(1, 4)))[0]
        assert torch.equal(slow, quick) != model.core.uses_time


def test_state_carries_on() -> None:
    model = Model(Encoder(Numbers(2)), cores.build("powerlaw", 2, 5, batch_first=True), 3, True)
    x = torch.randn(2, 6, 2)
    whole, _ = model(Batch(x, torch.zeros(2)))
    first, state = model(Batch(x[:, :4], torch.zeros(2)))
    second, _ = model(Batch(x[:, 4:], torch.zeros(2)), state)
    assert torch.allclose(torch.cat([first, second], 1), whole, atol=1e-6)


def test_dropout_is_on_what_the_head_sees() -> None:
    model = Model(Encoder(Numbers(2)), cores.build("lstm", 2, 5, batch_first=True), 3, True, dropout=0.999)
    x = Batch(torch.randn(2, 6, 2), torch.zeros(2))
    assert (model(x)[0] == model.head.bias).double().mean() > 0.9
    assert not (model.eval()(x)[0] == model.head.bias).any()


def test_orthogonal_parts_learn_at_their_own_rate() -> None:
    config = configure("copying", "exprnn", hidden=8, learning_rate=0.5)
    model = config.build_model(config.build_task())
    optimizer = optimizers.build(model, config.training)
    rates = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    assert set(rates) == {id(parameter) for parameter in model.parameters()}
    assert rates[id(model.head.weight)] == 0.5
    assert set(rates.values()) == {0.5, 0.05}


def test_rmsprop_has_the_papers_alpha() -> None:
    config = configure("copying", hidden=8)
    optimizer = optimizers.build(config.build_model(config.build_task()), config.training)
    assert isinstance(optimizer, torch.optim.RMSprop)
    assert optimizer.param_groups[0]["alpha"] == 0.9


@pytest.mark.parametrize("name", ["adam", "rmsprop"])
def test_an_optimiser_goes_on_from_its_tensors(name: str) -> None:
    config = configure("copying", hidden=4, optimizer=name)

    def fresh() -> tuple[Model, torch.optim.Optimizer]:
        torch.manual_seed(0)
        model = config.build_model(config.build_task())
        return model, optimizers.build(model, config.training)

    def step(model: Model, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        sum((parameter**3).sum() for parameter in model.parameters()).backward()  # type: ignore[union-attr]
        optimizer.step()

    model, optimizer = fresh()
    step(model, optimizer)
    other, resumed = fresh()
    other.load_state_dict(model.state_dict())
    optimizers.restore(resumed, {key: value.clone() for key, value in optimizers.tensors(optimizer).items()})
    step(model, optimizer)
    step(other, resumed)
    for ours, theirs in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(ours, theirs)

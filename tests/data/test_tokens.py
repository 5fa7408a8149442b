from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slowfade.data import tokenise


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("I don't, can't and won't.", "i do n't , ca n't and wo n't ."),
        ("It's what they'd've said: we're, I'll, I'm", "it 's what they 'd 've said : we 're , i 'll , i 'm"),
        ("DON'T! The 1950's.", "do n't ! the 1950 's ."),
        ("the boys' 'quoted' o'clock, y'all", "the boys ' ' quoted ' o'clock , y'all"),
        ("One.<br /><br />Two<br />three", "one . two three"),
        ("a well-made film--really...no", "a well-made film -- really ... no"),
        ("_very_ good (10/10), 7.5 of 1,000", "very good ( 10 / 10 ) , 7.5 of 1,000"),
        ("the U.S. of A.", "the u.s. of a ."),
        ("Don’t \x91quote\x92 a \x93cliché\x94 \x96 no\x85", "do n't ' quote ' a \" cliché \" -- no ..."),
        ("", ""),
    ],
)
def test_examples(text: str, tokens: str) -> None:
    assert tokenise(text) == tokens.split()


TEXT = st.text(st.sampled_from("abnstdmlrev''--..<>/ _10A,!\n\x96é"), max_size=40)


@given(TEXT)
def test_nothing_is_lost_but_blanks_underscores_and_capitals(text: str) -> None:
    kept = re.sub(r"[\s_]", "", text.lower().replace("<br />", " ").replace("\x96", "--"))
    assert "".join(tokenise(text)) == kept


@given(TEXT)
def test_tokens_stay_whole_when_split_again(text: str) -> None:
    tokens = tokenise(text)
    assert tokenise(" ".join(tokens)) == tokens

"""Prices as files write them, to exact amounts in ten-thousandths; what is not certain is no amount."""

from dataclasses import dataclass

import polars as pl

SCALE = 10_000  # amounts are whole numbers of ten-thousandths: exact, and half the size of a decimal
_SIGN = r"(?:[A-Z]{2}\$|[A-Za-z]{3}|[$€£¥₹₩])"
_SIGNS = rf"^{_SIGN}\s*|\s*{_SIGN}$"
_SIMPLE = r"^[0-9]{1,10}(?:\.[0-9]{1,4})?$"  # not \d, which knows the digits of every script
_GAPS = r"([0-9])[ '\u{00a0}\u{202f}\u{2019}]([0-9]{3})"
_WITH_POINT = (
    r"^(?:[0-9]{0,10}\.(?:[0-9]{1,2}|[0-9]{4})|0[0-9]{0,9}\.[0-9]{3}|[0-9]{4,10}\.[0-9]{3}"
    r"|[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]{1,4}|[0-9]{1,3}(?:,[0-9]{3}){2,})$"
)
_WITH_COMMA = _WITH_POINT.replace(",[0-9]{3}", "\x00[0-9]{3}").replace(r"\.", ",").replace("\x00", r"\.")
_EITHER = r"^[1-9][0-9]{0,2}[.,][0-9]{3}$"  # 1,299 or 1.299: only the rest of the file can tell
_CERTAIN = 100  # so many prices of one kind against one of the other

# What a sign in a price says of the currency; a dollar or yen sign may be several.
SIGN_CURRENCY = {"€": "EUR", "£": "GBP", "₹": "INR", "₩": "KRW", "US$": "USD", "CA$": "CAD", "AU$": "AUD", "NZ$": "NZD"}


@dataclass
class Evidence:
    """How many prices of a file can only be read with a decimal point, or only with a decimal comma."""

    point: int = 0
    comma: int = 0
    either: int = 0

    def add(self, texts: pl.Series) -> None:
        odd = texts.drop_nulls()
        simple = odd.str.contains(r"^[0-9]{1,10}\.[0-9]{1,2}$")
        self.point += int(simple.sum())
        odd = _bare(odd.filter(~simple))
        self.point += int(odd.str.contains(_WITH_POINT).sum())
        self.comma += int(odd.str.contains(_WITH_COMMA).sum())
        self.either += int(odd.str.contains(_EITHER).sum())

    @property
    def decimal(self) -> str | None:
        """The decimal sign, if the file as a whole makes it certain."""
        if self.point > self.comma * _CERTAIN:
            return "."
        return "," if self.comma > self.point * _CERTAIN else None

    def contradicts(self, guess: str | None) -> bool:
        """Whether reading with this sign could have gone wrong: not if there is nothing that depends on it."""
        return self.decimal != guess and bool(self.comma or self.either)


def _bare(texts: pl.Series) -> pl.Series:
    if not texts.len():
        return texts
    return texts.str.replace_all(_SIGNS, "").str.replace_all(_GAPS, "$1$2").str.replace_all(_GAPS, "$1$2")


def amounts(texts: pl.Series, decimal: str | None) -> pl.Series:
    """Ten-thousandths, null for what is not certainly an amount of money."""
    present = texts.drop_nulls()
    if present.str.contains(_SIMPLE).all() and decimal == ".":
        return _scaled(texts)
    return _scaled(_with_point(_bare(texts), decimal))


def _with_point(bare: pl.Series, decimal: str | None) -> pl.Series:
    text = pl.col("text")
    point = text.str.replace_all(",", "", literal=True)
    comma = text.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    whole = text.str.contains(r"^[0-9]{1,10}$")
    is_point, is_comma, is_either = (text.str.contains(form) for form in (_WITH_POINT, _WITH_COMMA, _EITHER))
    readings = {".": (whole | is_point | is_either, point), ",": (whole | is_comma | is_either, comma)}
    fits, reading = readings.get(decimal or "", (whole | is_point, point))
    frame = pl.DataFrame({"text": bare}, schema={"text": pl.String})
    return frame.select(pl.when(fits).then(reading)).to_series()


def _scaled(texts: pl.Series) -> pl.Series:
    exact = texts.str.to_decimal(scale=4) if texts.null_count() < texts.len() else texts.cast(pl.Decimal(38, 4))
    return (exact * SCALE).cast(pl.Int64, strict=False)  # what is too large for it is no price


def is_ambiguous(texts: pl.Series, decimal: str | None) -> pl.Series:
    """Whether a text would be an amount if only the decimal sign were certain."""
    bare = _bare(texts)
    unsure = (
        bare.str.contains(_EITHER) | bare.str.contains(_WITH_COMMA)
        if decimal is None
        else bare.str.contains(_WITH_COMMA if decimal == "." else _WITH_POINT)
    )
    return unsure.fill_null(value=False)


def code(texts: pl.Series) -> pl.Series:
    """The currency code that a price carries, in capitals; null for none."""
    return texts.str.extract(r"([A-Za-z]{3})").str.to_uppercase()


def sign(texts: pl.Series) -> pl.Series:
    """What the currency sign of a price says; null for none and for the dollar, which may be several."""
    return texts.str.extract(r"([A-Z]{2}\$|[$€£¥₹₩])").replace({**SIGN_CURRENCY, "$": None})


def text_of(amount: str) -> pl.Expr:
    """An amount with two to four decimals, as it is stored."""
    value = pl.col(amount)
    whole, rest = (value // SCALE).cast(pl.String), (value % SCALE).cast(pl.String).str.zfill(4)
    return pl.when(value.is_not_null()).then(pl.concat_str(whole, pl.lit("."), rest.str.replace(r"0{1,2}$", "")))

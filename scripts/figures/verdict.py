"""What the paper reports, what was measured, and whether the two agree."""
import dataclasses
import math

AGREES, DIFFERS, UNDECIDED, REPORTED = "agrees", "differs", "undecided", "reported"


@dataclasses.dataclass(frozen=True)
class Verdict:
    claim: str  # what is compared
    paper: str  # what the paper has
    measured: str
    tolerance: str
    word: str

    def line(self):
        return f"{self.word}: {self.claim}. Paper: {self.paper}. Measured: {self.measured} ({self.tolerance})."


def _text(difference, error, form):
    if error is None or not math.isfinite(error):
        return format(difference, form)
    return f"{format(difference, form)} ± {error:.4f}"


def equal(claim, paper, difference, error, form="+.4f"):
    """The paper has no difference: agrees within 2 standard errors of 0."""
    word = AGREES if abs(difference) <= 2 * error else DIFFERS
    return Verdict(claim, paper, _text(difference, error, form), "within 2 standard errors of 0", word)


def at_most(claim, paper, difference, error, form="+.4f"):
    """The paper has a difference of at most 0: agrees below 2 standard errors."""
    word = AGREES if difference <= 2 * error else DIFFERS
    return Verdict(claim, paper, _text(difference, error, form), "at most 2 standard errors above 0", word)


def above(claim, paper, difference, error, form="+.4f"):
    """The paper has a difference above 0: agrees above 2 standard errors, differs below -2, between them is undecided."""
    word = AGREES if difference > 2 * error else DIFFERS if difference < -2 * error else UNDECIDED
    return Verdict(claim, paper, _text(difference, error, form), "beyond 2 standard errors of 0", word)


def a_little_above(claim, paper, difference, error, most, form="+.4f"):
    """As `above`, but it differs beyond `most` too, as a run does that diverged."""
    word = DIFFERS if difference > most else above(claim, paper, difference, error).word
    return Verdict(claim, paper, _text(difference, error, form), f"beyond 2 standard errors of 0, and at most {most:g}", word)


def near(claim, paper, value, expected, tolerance, form=".3f"):
    """The paper has a number: agrees within the stated tolerance."""
    word = AGREES if abs(value - expected) <= tolerance else DIFFERS
    return Verdict(claim, paper, format(value, form), f"within {tolerance:g} of {format(expected, form)}", word)


def holds(claim, paper, measured, tolerance, condition):
    """A claim of another form, with its condition in words as the tolerance."""
    return Verdict(claim, paper, measured, tolerance, AGREES if condition else DIFFERS)


def reported(claim, paper, measured, why):
    """What is shown, and not compared: `why`."""
    return Verdict(claim, paper, measured, why, REPORTED)

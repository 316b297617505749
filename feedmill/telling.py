"""What a person who waits is told where nobody looks at progress bars: a line for what matters."""

from feedmill import streams
from tasks import progress, redaction


class Lines(progress.Listener):
    """Lines on standard error, no bars."""

    def told(self, sentence: str) -> None:
        streams.tell(f"feedmill: {redaction.hide(' '.join(sentence.split()))}")

"""Make the block types of feedmill known to the Prefect server, so that its UI offers them.

Once per server: python -m deployments.register_blocks
"""

from blocks.feed_credentials import FeedCredentials


def main() -> None:
    FeedCredentials.register_type_and_schema()


if __name__ == "__main__":
    main()

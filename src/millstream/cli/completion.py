"""`millstream completion`: the script that teaches a shell our commands, options and topics."""

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    bash   source <(millstream completion bash)       in ~/.bashrc
    zsh    source <(millstream completion zsh)        in ~/.zshrc
    fish   millstream completion fish > ~/.config/fish/completions/millstream.fish
    """
    from millstream.cli.main import cli

    kind = get_completion_class(shell)
    assert kind is not None, shell
    click.echo(kind(cli, {}, "millstream", "_MILLSTREAM_COMPLETE").source())

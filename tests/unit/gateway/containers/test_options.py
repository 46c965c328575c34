"""The options of the gateway that are about names."""

import pytest

from gateway.daemon import main


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--kubelet-token", "x"], "need --kubelet-url"),
        (["--kubelet-ca", "x"], "need --kubelet-url"),
        (["--kubelet-url", "127.0.0.1"], "must be http"),
        (["--kubelet-url", "http://127.0.0.1:10255", "--kubelet-token", "x"], "not sent without TLS"),
        (["--env-label", "A B"], "must be the name of a variable"),
        (["--env-label", "A=1"], "begin with a letter"),
        (["--pod-label", "a/b/c"], "must be the key of a label"),
    ],
)
def test_what_makes_no_sense_is_said_at_the_start(
    options: list[str], why: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as ended:
        main(["--listen", "unix:/run/x.sock", *options])
    assert ended.value.code == 2
    assert why in capsys.readouterr().err

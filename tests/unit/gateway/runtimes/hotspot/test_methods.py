"""Names of classes."""

import pytest

from gateway.runtimes.hotspot.methods import stable_name


@pytest.mark.parametrize(
    ("internal", "name"),
    [
        ("java/lang/String", "java.lang.String"),
        ("shop/Basket$Item", "shop.Basket$Item"),
        ("shop/Basket$1", "shop.Basket$1"),
        ("shop/Basket$$Lambda$14+0x0000000800c03000", "shop.Basket$$Lambda"),
        ("shop/Basket$$Lambda+0x00007f0001001000", "shop.Basket$$Lambda"),
        ("java/lang/invoke/LambdaForm$MH+0x0000000800c10400", "java.lang.invoke.LambdaForm$MH"),
        ("jdk/internal/reflect/GeneratedMethodAccessor12", "jdk.internal.reflect.GeneratedMethodAccessor"),
        ("com/sun/proxy/$Proxy7", "com.sun.proxy.$Proxy"),
    ],
)
def test_a_class_has_one_name_in_all_processes_and_runs(internal: str, name: str) -> None:
    assert stable_name(internal) == name

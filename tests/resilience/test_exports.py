import resilience


def test_all_is_sorted_and_true() -> None:
    exported = {name for name in vars(resilience) if name[0].isupper()}
    assert resilience.__all__ == sorted(exported)

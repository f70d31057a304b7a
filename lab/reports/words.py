"""Every word of a report, in English and in the language of the textbook."""

# ruff: noqa: RUF001 - Cyrillic letters are meant

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """One language's words; templates take the named values of `str.format`."""

    fault: str
    client: str
    figures: Mapping[str, str]  # figure -> its heading; a figure without one keeps its name
    missing: str  # in place of a figure that is not available
    inside: str  # the verdicts where a mark cannot be told by its colour or shape
    outside: str
    all_inside: str
    some_outside: str
    outside_line: str
    no_figure_line: str
    all_hold: str
    some_fail: str
    fail_line: str
    of_one_run: str  # the value of an expectation that every run has to meet
    usual_runs: str
    other_runs_line: str
    marked_line: str
    how_to_read: str
    request: str
    by_request: str
    of_fault: str
    by_touched: str
    how_to_read_touched: str
    of_sweep: str
    unbeaten: str
    yes: str
    how_to_read_sweep: str
    phase: str
    burst: str
    event: str
    phases_title: str
    bursts_title: str
    events_title: str
    whole_title: str
    how_to_read_timeline: str
    by_breaker: str  # {well}
    by_reply: str  # {well}
    timeline_runs: str  # {runs}
    decimal_mark: str = "."
    names: Mapping[str, str] = field(  # conditions, clients and titles that have a translation
        default_factory=lambda: MappingProxyType({})
    )

    def heading(self, figure: str) -> str:
        """Return what stands above the column of *figure*."""
        name, _, number = figure.rpartition("_")
        if number.isdecimal() and name in self.figures:  # of a second fault, and so on
            return f"{self.figures[name]} {number}"
        return self.figures.get(figure, figure)

    def name(self, name: str) -> str:
        """Return a condition's, a client's or an experiment's name, translated if it is known."""
        return self.names.get(name, name)


ENGLISH = Words(
    fault="Fault",
    client="Client",
    figures=MappingProxyType(
        {
            "requests": "Requests",
            "fresh": "Fresh",
            "stale": "Stale",
            "error": "Error",
            "mean_ms": "Mean, ms",
            "p50_ms": "p50, ms",
            "p95_ms": "p95, ms",
            "p99_ms": "p99, ms",
            "max_ms": "Max, ms",
            "requests_per_s": "Req/s",
            "attempts_per_request": "Attempts/ request",
            "touched": "Touched",
            "share_hit": "Share hit",
            "share_asked": "Share asked",
            "not_sent": "Not sent",
            "sent_late": "Sent late",
            "budget_spent": "Budget spent",
            "worst_second": "Good in worst second",
            "worst_second_at_s": "Worst second, from s",
            "breaker_opens_ms": "Breaker opens, ms",
            "first_unwell_ms": "First not well, ms",
            "detected_ms": "Detected, ms",
            "first_well_ms": "First well, ms",
            "recovered_ms": "Recovered, ms",
            "unwell_after": "Not well after",
        }
    ),
    missing="n/a",
    inside="ok",
    outside="OUT",
    all_inside="All {count} published figures are inside their bands.",
    some_outside="{outside} of {count} published figures are not inside their bands:",
    outside_line="{cell}, {figure}: {value}, band {low} to {high}, published {published} ({basis})",
    no_figure_line="{cell}, {figure}: not available, band {low} to {high}, published {published}",
    all_hold="All {count} checks of expectations hold.",
    some_fail="{failed} of {count} checks of expectations do not hold:",
    fail_line="{cell}, {figure}: {value}, expected {comparison} {bound}",
    of_one_run="{value} in one of the runs",
    usual_runs="Each cell: runs {runs}, requests a run {requests}.",
    other_runs_line="{cell}: runs {runs}, requests a run {requests}",
    marked_line="{cell}: runs that do not count: {marked}; {why}",
    how_to_read=(
        "Medians of the runs, with the lowest and the highest of them; in brackets the published "
        "figure. Attempts: calls sent to the service under fault."
    ),
    request="Request",
    by_request="Each request of the mix",
    of_fault="What was on",
    by_touched="What the faults touched",
    how_to_read_touched=(
        "Touched: in each run, requests or (for faults of bytes) connections to which the fault "
        "did something. Share hit: of those that the fault could have hit."
    ),
    of_sweep="What each setting of {sweep} buys and costs",
    unbeaten="Unbeaten",
    yes="yes",
    how_to_read_sweep=(
        "Unbeaten: under that fault no other setting has as high a share of {wanted} for as little "
        "in mean, p95 and attempts, and is better in one of the four."
    ),
    phase="Phase",
    burst="Burst",
    event="Event",
    phases_title="What each phase did",
    bursts_title="What each burst got",
    events_title="From each event to its discovery, and from its end to recovery",
    whole_title="The whole",
    how_to_read_timeline=(
        "Medians of the runs, with the lowest and the highest of them; in brackets the published "
        "figure. A request counts to the phase in which it was due, and latencies count from then. "
        "Not sent: no connection was to be had at all; sent late: over 100 ms after it was due."
    ),
    by_breaker=(
        "Detected: the breaker was seen open, at a look every 0.1 s. Well: {well}. Recovered: as "
        "many replies are well for a second as before the first event."
    ),
    by_reply=(
        "Detected: the first reply that was not {well}, as no service tells of a breaker. "
        "Recovered: as many replies are {well} for a second as before the first event."
    ),
    timeline_runs="Runs with each client: {runs}.",
)

UKRAINIAN = Words(
    fault="Збої rates",
    client="Клієнт",
    figures=MappingProxyType(
        {
            "requests": "Запитів",
            "fresh": "Свіжі",
            "stale": "З кешу",
            "error": "Помилки",
            "mean_ms": "Сер., мс",
            "p50_ms": "p50, мс",
            "p95_ms": "p95, мс",
            "p99_ms": "p99, мс",
            "max_ms": "Макс., мс",
            "requests_per_s": "Зап./с",
            "attempts_per_request": "Спроб/ запит",
            "touched": "Зачеплено",
            "share_hit": "Частка влучань",
            "share_asked": "Задана частка",
            "not_sent": "Не надіслано",
            "sent_late": "Надіслано пізно",
            "budget_spent": "Витрачено бюджету",
            "worst_second": "Добрих у найгіршу секунду",
            "worst_second_at_s": "Найгірша секунда, від с",
            "breaker_opens_ms": "Запобіжник розімкнуто, мс",
            "first_unwell_ms": "Перша не добра, мс",
            "detected_ms": "Виявлено, мс",
            "first_well_ms": "Перша добра, мс",
            "recovered_ms": "Відновлено, мс",
            "unwell_after": "Не добрих після",
        }
    ),
    missing="н/д",
    inside="так",
    outside="ПОЗА",
    all_inside="Усі надруковані значення ({count}) відтворено в межах допуску.",
    some_outside="Поза допуском {outside} з {count} надрукованих значень:",
    outside_line="{cell}, {figure}: {value}, допуск від {low} до {high}, надруковано {published}"
    " ({basis})",
    no_figure_line="{cell}, {figure}: значення немає, допуск від {low} до {high}, надруковано"
    " {published}",
    all_hold="Усі перевірки очікувань ({count}) пройдено.",
    some_fail="Не пройдено {failed} з {count} перевірок очікувань:",
    fail_line="{cell}, {figure}: {value}, очікувано {comparison} {bound}",
    of_one_run="{value} в одному із запусків",
    usual_runs="У кожному рядку: запусків {runs}, запитів у запуску {requests}.",
    other_runs_line="{cell}: запусків {runs}, запитів у запуску {requests}",
    marked_line="{cell}: запусків, що не враховано: {marked}; {why}",
    how_to_read=(
        "Медіани запусків, найменше й найбільше значення; у дужках надруковане значення. "
        "Спроби: виклики до сервісу зі збоями."
    ),
    request="Запит",
    by_request="Кожен запит суміші",
    of_fault="Що було ввімкнено",
    by_touched="Що зачепили збої",
    how_to_read_touched=(
        "Зачеплено: запити або (для збоїв на рівні байтів) з'єднання, з якими збій щось зробив за "
        "один запуск. Частка влучань: з тих, у які збій міг влучити."
    ),
    of_sweep="Що дає й чого коштує кожне налаштування {sweep}",
    unbeaten="Неперевершене",
    yes="так",
    how_to_read_sweep=(
        "Неперевершене: за цього збою жодне інше налаштування не має такої ж частки «{wanted}» за "
        "такі ж середній час, p95 і кількість спроб або менші, будучи кращим хоч в одному."
    ),
    phase="Фаза",
    burst="Серія",
    event="Подія",
    phases_title="Що було в кожній фазі",
    bursts_title="Що отримала кожна серія",
    events_title="Від події до її виявлення і від її кінця до відновлення",
    whole_title="Загалом",
    how_to_read_timeline=(
        "Медіани запусків, найменше й найбільше значення; у дужках надруковане значення. Запит "
        "належить до фази, у якій мав бути надісланий; від цього моменту лічиться і затримка. "
        "Не надіслано: з’єднання так і не було; пізно: понад 100 мс після призначеного моменту."
    ),
    by_breaker=(
        "Виявлено: запобіжник розімкнуто (перевірка кожні 0,1 с). Добра відповідь: {well}. "
        "Відновлено: протягом секунди добрих відповідей стільки ж, скільки до першої події."
    ),
    by_reply=(
        "Виявлено: перша відповідь, що не {well}, бо жоден сервіс не повідомляє про запобіжник. "
        "Відновлено: протягом секунди відповідей {well} стільки ж, скільки до першої події."
    ),
    timeline_runs="Запусків з кожним клієнтом: {runs}.",
    decimal_mark=",",
    names=MappingProxyType(
        {
            "Table 18.4. Converter replies (200 requests, 4 tasks), median of 5 runs": (
                "Таблиця 18.4. Відповіді конвертера (200 запитів, 4 задачі), медіана 5 запусків"
            ),
            "none": "немає",
            "30 % replies 500": "30 % відповідей 500",
            "70 % replies 500": "70 % відповідей 500",
            "500 ms delay": "затримка 500 мс",
            "rates stopped": "сервіс зупинено",
            "resilient": "стійкий",
        }
    ),
)

LANGUAGES: Mapping[str, Words] = MappingProxyType({"en": ENGLISH, "uk": UKRAINIAN})

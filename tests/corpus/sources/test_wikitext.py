"""Wikitext as articles really have it, to what a reader would read aloud."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litebert.corpus.sources.wikipedia import paragraphs

NAMESPACES = {"file", "image", "category", "datei"}

ARTICLE = """{{Short description|City in Finland}}
{{Infobox settlement
| name = Turku <!-- official -->
| map = {{Location map|Finland|width=200<ref>{{cite web|url=http://a.b/|title=A {{nowrap|B}}}}</ref>}}
| area = {{convert|306.4|km2|sqmi}}
}}
[[File:Turku.jpg|thumb|The [[Aura River|river]] and the {{nowrap|old bridge}}]]
'''Turku''' ({{IPA-fi|ˈturku}}; {{lang-sv|Åbo}}) is a [[city]] in [[Southwest Finland|the south-west]].<ref name="x">{{cite book|title=T}}</ref><ref name="y" /> It lies {{convert|160|km|mi}} west of [[Helsinki]], on ''both'' banks of the [[Aura (river)|Aura]].

== History ==
The name comes from {{lang|orv|търгъ}} ({{transl|orv|tǔrgǔ}}), &quot;market&nbsp;place&quot;.{{citation needed|date=May 2020}} Its cathedral was built in <math>x^2 < 13</math> the 13th century.<br />It still stands.

{| class="wikitable"
|-
! Year !! People
|-
| 1900 || many
{|
| nested
|}
|}
* A list item
# another
:; an indented line
<gallery>
File:A.jpg|A caption
</gallery>
Its fortress{{efn|Now a {{ill|museum|fi|museo}}.}} [http://x.org/ is] old[http://y.org].

== See also ==
* [[Vaasa]]
{{Authority control}}
[[Category:Turku]]
[[de:Turku]]
"""  # noqa: E501


def prose(text: str) -> list[str]:
    return list(paragraphs(text, namespaces=NAMESPACES))


def test_wikitext_article_becomes_its_paragraphs():
    assert prose(ARTICLE) == [
        "Turku (Åbo) is a city in the south-west. It lies 160 km west of Helsinki, on both banks of the Aura.",
        'The name comes from търгъ (tǔrgǔ), "market place". '
        "Its cathedral was built in the 13th century. It still stands.",
        "Its fortress is old.",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[bus]]es and [[A|''b'']]", "buses and b"),
        ("a [[:Category:Cats|list of cats]] here", "a list of cats here"),
        ("a [[:de:Hund]] here", "a de:Hund here"),
        ("x [[Datei:B.png|mini|links [[y]] und {{z}}]] z", "x z"),
        ("[[Star Trek: Voyager]] is on", "Star Trek: Voyager is on"),
        ("{{convert|5|to|7|km}} and {{cvt|5|ft}} long", "5 to 7 km and 5 ft long"),
        ("{{small|a}} {{nowrap|b c}} {{unknown|d}} {{lang|fr|e|italic=no}} {{lang|fr}}", "a b c e"),
        ("born ({{circa|1900}} – {{x}}) there", "born (1900 –) there"),
        ("gone ({{x}}, {{y}}) now", "gone now"),
        ("gone ({{x}}; or not) now", "gone (or not) now"),
        ("l'''amour'' et", "lamour et"),
        ("<nowiki>[plain]</nowiki> text", "[plain] text"),
        ("__NOTOC__ text __INDEX__", "text"),
        ("5 &lt; 6 &amp; seven", "5 < 6 & seven"),
        ("<span style='x'>a</span> <b>c</b>", "a c"),
        ("中国-{zh-hans:软件;zh-hant:軟體}-很好（{{x}}）。", "中国软件很好。"),
        ("这-{A|zh-cn:博客;zh-tw:部落格}-和-{R|原文}-很好。", "这博客和原文很好。"),
        ("很好-{H|zh-cn:博客;zh-tw:部落格}-。-{T|zh:标题}-", "很好。"),
        ("Au {{s|XIX}}, {{unité|50000|habitants}} et {{nombre|12|km}}", "Au XIXe siècle, 50000 habitants et 12 km"),
        ("El {{siglo|XIX||s}} y {{s|5 км}} {{nb|7}}", "El siglo XIX y 5 км 7"),
        ("{{読み仮名|江戸城|えどじょう}}は{{仮リンク|千代田区|en|Chiyoda}}", "江戸城（えどじょう）は千代田区"),
        ("Город {{нп5|Лондон||en|London}} и {{нп5|Рим|Рима|it|Roma}}", "Город Лондон и Рима"),
        ("مرحبا [[بكم|بكم جميعا]] {{lang|en|here}}", "مرحبا بكم جميعا here"),
        ("a {{{1|parameter}}} b", "a b"),
    ],
)
def test_wikitext_small_cases(text, expected):
    assert [" ".join(line.split()) for line in prose(text)] == [" ".join(expected.split())]


@pytest.mark.parametrize(
    "text",
    ["", "== A ==", "* a", "{{a|b}}", "{|\n| cell\n|}", "...", "123", "<ref>a</ref>", "<!-- a", "[[Category:A]]"],
)
def test_prose_paragraphs_of_code_are_empty(text):
    assert prose(text) == []


def test_wikitext_unbalanced_bracket_removes_no_text():
    assert prose("Before [[open.\n\nAfter.") == ["Before open.", "After."]
    assert prose("Before ]] and }} after.") == ["Before and after."]
    assert prose("{{Infobox\n| a = b\nAfter.") == ["Infobox", "After."]


def test_wikitext_unclosed_reference_removes_no_text():
    assert prose("Before<ref>open.\n\nAfter<ref>closed</ref>.") == ["Beforeopen.", "After."]


def test_wikitext_nested_tables_and_templates_are_removed():
    assert prose("<table><tr><td><table>a</table></td></tr></table>Out.") == ["Out."]
    assert prose("[[A|{{nowrap|b {{small|c}}}}]] d") == ["b c d"]


@given(
    st.lists(st.sampled_from(["{{", "}}", "[[", "]]", "\n{|", "\n|}", "|", "a b", "<ref>", "</ref>", "''", "\n", ":"]))
)
def test_wikitext_of_any_kind_is_read_without_brackets_left(parts):
    for line in prose("".join(parts)):
        assert not {"{{", "}}", "[[", "]]"} & {line[i : i + 2] for i in range(len(line))}
        assert line == line.strip()
        assert line


@pytest.mark.parametrize("sign", ["<ref>", "{{", "[[a|", "[//x", "<table>", "-{", "{|\n", "(", "''", "<!--", "{{{"])
def test_wikitext_of_brackets_only_takes_linear_time(sign):
    """The tests' time limit would tell; each of these is quadratic or worse in a careless pattern."""
    prose(sign * 20_000)
    prose(sign * 20_000 + "}}" * 20_000)
    prose(sign * 2_000 + {"{{": "}}", "[[a|": "]]", "<table>": "</table>"}.get(sign, "") * 2_000)

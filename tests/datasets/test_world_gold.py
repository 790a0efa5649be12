"""The gold layers of the world are consistent over ten thousand sentences; the checks see only the layers."""

from __future__ import annotations

from collections import defaultdict
from math import exp, fsum, inf, isclose

import pytest

from firth.datasets import numbered_lines, readers
from firth.datasets.readers import trees
from firth.datasets.world import World
from firth.datasets.world.gold import GOLD, records, sentiment_tree
from firth.datasets.world.lexicon import LEXICON
from firth.datasets.world.second_language import GENDERS, TENSES
from firth.datasets.world.vocabulary_size import all_word_forms, resize_lexicon
from firth.datasets.world.weighted_grammar import derivation_probabilities, nth_derivation
from firth.datasets.world.word_relations import analogies, classes, similarities
from firth.errors import FirthError

WORLD = World(seed=5)
STORIES = list(WORLD.annotated_documents(1900))
SENTENCES = [sentence for story in STORIES for sentence in story.sentences]
PEOPLE = {person.name: person for person in LEXICON.people}
PLACES = {name for city in LEXICON.cities for name in (city.name, city.country)}
FUNCTION = {"the", "a", "an", "every", "some", "two", "three", "any", "no", "not", "that", "is", "are", "was", "were",
            "will", "be", "by", "from", "to", "in", "of", "than", "and", "because", "when", "where", "who", "it", "he",
            "she", "her", "him", "do", "does", "did", "today", "yesterday", "once", "tomorrow", "soon", "something",
            "somebody", "according", "comes", "capital", "say", "says", "said", "older", "younger", "bigger",
            "smaller"}  # fmt: skip


def test_there_are_ten_thousand():
    assert len(SENTENCES) >= 10_000
    assert len({sentence.text for sentence in SENTENCES}) > 8_000
    assert len({sentence.kind for sentence in SENTENCES}) == 14


# --- words, tags and trees ------------------------------------------------------------------------------------------


def constituents(brackets):
    """(start, end, label) of every constituent and (tag, word) of every leaf, by one pass over the brackets."""
    spans, leaves, open_ = [], [], []
    for piece in brackets.replace("(", " ( ").replace(")", " ) ").split():
        if piece == "(":
            open_.append([None, len(leaves)])
        elif piece == ")":
            label, start = open_.pop()
            if start < len(leaves):
                spans.append((start, len(leaves), label))
        elif open_[-1][0] is None:
            open_[-1][0] = piece
        else:
            leaves.append((open_[-1][0], piece))
    assert not open_
    return spans, leaves


def test_words_make_the_text_and_are_the_leaves_of_the_tree():
    for s in SENTENCES:
        assert " ".join(s.words).replace(" .", ".").replace(" ,", ",") == s.text
        assert constituents(s.tree)[1] == list(zip(s.xpos, s.words, strict=True))
        lengths = map(len, (s.words, s.lemmas, s.upos, s.xpos, s.feats, s.heads, s.relations, s.entities))
        assert len(set(lengths)) == 1


def test_dependencies_are_projective_trees_with_one_root():
    for s in SENTENCES:
        assert s.heads.count(0) == 1 and s.relations[s.heads.index(0)] == "root" and s.relations.count("root") == 1
        above = {}
        for word in range(1, len(s.heads) + 1):
            chain = [word]
            while s.heads[chain[-1] - 1]:
                chain.append(s.heads[chain[-1] - 1])
                assert len(chain) <= len(s.heads), "a cycle"
            above[word] = set(chain)
        for word, head in enumerate(s.heads, 1):
            between = range(min(word, head) + 1, max(word, head)) if head else ()
            assert all(head in above[inner] for inner in between)


def test_every_constituent_hangs_on_one_word():
    for s in SENTENCES[:3000]:
        for start, end, _ in constituents(s.tree)[0]:
            outside = [w for w in range(start + 1, end + 1) if not start < s.heads[w - 1] <= end]
            assert len(outside) == 1, (s.tree, start, end)


def test_tags_and_features_go_together():
    tags = defaultdict(set)
    for s in SENTENCES:
        for tag in zip(s.upos, s.xpos, s.feats, strict=True):
            tags[tag[1]].add(tag[0])
            assert ("Number=Plur" in tag[2]) == (tag[1] in ("NNS", "VBP"))
            assert ("Tense=Past" in tag[2]) == (tag[1] == "VBD")
    assert tags["NN"] == tags["NNS"] == {"NOUN"} and tags["VBZ"] == {"VERB", "AUX"} and tags["IN"] == {"ADP", "SCONJ"}


def test_verbs_agree_with_their_subjects_at_any_distance():
    far = 0
    for s in SENTENCES:
        for at, (head, relation) in enumerate(zip(s.heads, s.relations, strict=True)):
            verb = [head - 1] + [i for i, h in enumerate(s.heads) if h == head and s.relations[i] in ("cop", "aux")]
            finite = [i for i in verb if s.xpos[i] in ("VBZ", "VBP")]
            if relation == "nsubj" and finite and s.words[at] != "that":
                both = any(h == at + 1 and r == "conj" for h, r in zip(s.heads, s.relations, strict=True))
                assert (s.xpos[finite[0]] == "VBP") == (both or s.xpos[at] == "NNS"), s.text
                far += finite[0] - at > 3
    assert far > 300


# --- entities and sentiment -----------------------------------------------------------------------------------------


def test_entities_are_exactly_the_names():
    longest = 0
    for s in SENTENCES:
        spans, at = [], 0
        while at < len(s.words):
            end = at + 1
            if s.entities[at] != "O":
                assert s.entities[at][:2] == "B-"
                while end < len(s.words) and s.entities[end] == "I-" + s.entities[at][2:]:
                    end += 1
                spans.append((" ".join(s.words[at:end]), s.entities[at][2:]))
                longest = max(longest, end - at)
            at = end
        assert all(name in (PEOPLE if kind == "PER" else PLACES) for name, kind in spans)
        assert sum(tag == "PROPN" for tag in s.upos) == sum(len(name.split()) for name, _ in spans)
    assert longest == 2


def test_sentiment_is_the_polarity_of_the_scene_where_it_is_expressed():
    for story in STORIES:
        for s in story.sentences:
            assert s.sentiment == (story.scene.polarity if s.kind in ("opening", "feeling") else "neutral")


# --- the second language --------------------------------------------------------------------------------------------


def test_alignments_are_in_range_and_complete():
    for s in SENTENCES:
        assert all(0 <= a < len(s.words) and 0 <= b < len(s.translation) for a, b in s.alignment)
        assert len(set(s.alignment)) == len(s.alignment)
        unaligned = set(range(len(s.translation))) - {b for _, b in s.alignment}
        assert {s.translation[b] for b in unaligned} <= {"o"}
        lost = {s.words[a].lower() for a in set(range(len(s.words))) - {a for a, _ in s.alignment}}
        assert lost <= {"is", "are", "a", "an", "that"}


def test_aligned_words_translate_each_other_and_agree():
    second_language = WORLD._grammar.inflector.second_language
    for s in SENTENCES:
        found = defaultdict(list)
        for a, b in s.alignment:
            found[a].append(s.translation[b])
        for a, lemma in enumerate(s.lemmas):
            if s.upos[a] == "PROPN":
                assert found[a] == [s.words[a]]
            elif lemma in second_language.stems and s.xpos[a] != "JJR":
                assert len(found[a]) == 1 and second_language.stems[lemma] in found[a][0].lower()
            if s.upos[a] == "ADJ" and s.relations[a] == "amod" and lemma in LEXICON.sizes:
                noun = s.lemmas[s.heads[a] - 1]
                ending = GENDERS[second_language.gender(noun)] + "i" * (s.xpos[s.heads[a] - 1] == "NNS")
                assert found[a][0].endswith(ending)
            if s.xpos[a] == "VBD":
                assert found[a][0].rstrip("i").endswith(TENSES["past"])


def test_the_verb_comes_last_and_compounds_are_one_word():
    compounds = futures = 0
    for s in SENTENCES:
        words_of = defaultdict(list)
        for a, b in s.alignment:
            words_of[b].append(a)
        root = s.heads.index(0)
        if s.upos[root] == "VERB":
            assert max(b for a, b in s.alignment if a == root) == len(s.translation) - 2  # before the full stop
        compounds += sum([s.upos[a] for a in row] == ["ADJ", "NOUN"] for row in words_of.values())
        futures += sum([s.upos[a] for a in row] == ["AUX", "VERB"] for row in words_of.values())
    assert compounds > 1000 and futures > 500


# --- pairs and questions --------------------------------------------------------------------------------------------


def content(text):
    return {word.strip(".,").lower() for word in text.split()} - FUNCTION


def test_pairs_have_their_labels_and_scores():
    for s in SENTENCES:
        assert [pair.label for pair in s.pairs] == ["paraphrase", "entailment", "contradiction", "neutral"]
        paraphrase, entailed, contradicted, unrelated = s.pairs
        assert all(pair.left == s.text != pair.right and pair.right.endswith(".") for pair in s.pairs)
        assert len({pair.right for pair in s.pairs}) == 4
        assert paraphrase.score == 5 and 0 < entailed.score <= 5 and unrelated.score == 0 < contradicted.score < 5
        assert not content(s.text) & content(unrelated.right)
        if s.kind in ("ageing", "comparing"):
            assert entailed.score < 5
        if s.kind in ("describing", "fact", "feeling", "comparing", "opening"):  # no verb changes its form in these
            assert len(content(paraphrase.right) ^ content(s.text)) <= 2
            assert content(entailed.right) <= content(s.text)


@pytest.mark.parametrize(("sentence", "index", "expected"), [
    ("acting", 0, "by"), ("doing", 2, "not"), ("travelling", 2, "not"), ("working", 2, "not"),
    ("feeling", 2, "not"), ("saying", 2, "not"), ("occasion", 2, "not"), ("opening", 2, "not"),
])  # fmt: skip
def test_passives_and_negations(sentence, index, expected):
    found = [s.pairs[index].right.split() for s in SENTENCES if s.kind == sentence]
    assert found and all(expected in row for row in found)


def test_a_passive_keeps_the_scope_of_its_quantifiers():
    found = 0
    for s in SENTENCES:
        if s.kind == "happening":
            root = s.heads.index(0) + 1
            goal = next(at for at, head in enumerate(s.heads, 1) if head == root and s.relations[at - 1] == "obj")
            quantifiers = {s.words[0].lower(), s.words[s.heads.index(goal)]}  # the first word that hangs on the object
            mixed = "every" in quantifiers and bool(quantifiers & {"some", "two", "three"})
            assert (" by " not in s.pairs[0].right) == mixed
            found += mixed
    assert found > 5


def test_inferences_from_facts_are_true_or_false_as_labelled():
    capitals = {city.name: city.country for city in LEXICON.cities}
    sizes = {f"the {thing.singular}": size for size, thing in enumerate(LEXICON.inanimate_nouns)}
    for s in SENTENCES:
        if s.kind == "fact":
            country, city = s.pairs[0].right.removeprefix("The capital of ").removesuffix(".").split(" is ")
            assert capitals[city] == country
            city, country = s.pairs[2].right.removesuffix(".").split(" is the capital of ")
            assert capitals[city] != country
        if s.kind == "comparing":
            for pair, truth in ((s.pairs[0], True), (s.pairs[2], False)):
                words = pair.right.removesuffix(".").lower().split()
                one, other = sizes[" ".join(words[:2])], sizes[" ".join(words[-2:])]
                assert ((one > other) == (words[3] == "bigger")) == truth


def test_quantified_subjects_are_negated_as_a_whole():
    for s in SENTENCES:
        first, denied = s.words[0].lower(), s.pairs[2].right
        if s.kind in ("happening", "describing"):
            expected = {"every": "Not every ", "some": "No ", "two": "No ", "three": "No "}.get(first)
            assert denied.startswith(expected) if expected else " not " in denied


def test_answers_are_at_their_offsets():
    kinds = defaultdict(int)
    for story in STORIES:
        assert story.text == " ".join(s.text for s in story.sentences)
        for question in story.questions:
            kinds[question.kind] += 1
            assert question.text.endswith("?") and question.answers
            for answer in question.answers:
                end = answer.start + len(answer.text)
                assert answer.start == -1 or story.text[answer.start : end] == answer.text
                assert answer.start <= 0 or not story.text[answer.start - 1].isalnum()
                assert answer.start == -1 or not story.text[end : end + 1].isalnum()
            if question.choices:
                assert len(question.answers) == 1 and len(set(question.choices)) == len(question.choices) > 1
                assert question.choices.count(question.answers[0].text) == 1
    assert len(kinds) >= 14 and min(kinds.values()) > 50


def test_choices_do_not_give_themselves_away():
    places = defaultdict(int)
    for story in STORIES:
        for question in story.questions:
            if question.kind == "job":
                places[question.choices.index(question.answers[0].text)] += 1
    assert set(places) == {0, 1, 2, 3} and max(places.values()) < 2 * min(places.values())


def test_yes_and_no_are_as_frequent_whatever_the_wording():
    found = defaultdict(list)
    for story in STORIES:
        for question in story.questions:
            if question.kind == "yes or no":
                opening = question.text.split()[0]
                wording = ("it is true" if "true" in question.text else opening, " not " in question.text)
                found[wording].append(question.answers[0].text == "yes")
    large = {wording: answers for wording, answers in found.items() if len(answers) > 300}
    assert len(large) >= 4
    for wording, answers in large.items():
        assert abs(sum(answers) / len(answers) - 0.5) < 0.09, wording


def test_the_polarity_of_a_mood_does_not_give_the_answer_away():
    polarities = {mood.name: mood.polarity for mood in LEXICON.moods}
    for story in STORIES:
        for question in story.questions:
            if question.kind == "mood" and question.choices:
                assert sorted(polarities[nonterminal] for nonterminal in question.choices) == [
                    "bad",
                    "bad",
                    "good",
                    "good",
                ]


def test_the_answer_is_not_in_the_question():
    for story in STORIES:
        for question in story.questions:
            if question.kind in ("colour", "size"):
                assert (
                    not set(question.choices) & set(question.text.removesuffix("?").split()[3:])
                    or "that" in question.text
                )


def test_countries_are_right_though_the_text_does_not_mention_them():
    for story in STORIES:
        question = next(a for a in story.questions if a.kind == "country")
        assert question.answers[0].text == story.scene.home.country


def test_summaries_name_the_hero_and_are_short():
    for story in STORIES:
        assert story.summary.startswith(story.scene.hero.name) and story.scene.job.name in story.summary
        assert len(story.summary) < len(story.text)
        assert content(story.summary) <= content(story.text)


# --- probabilities --------------------------------------------------------------------------------------------------


def test_log_probabilities_of_the_sentences_are_that_of_the_document():
    lengths = WORLD._grammar.length()
    shares = {len(o.parts): p for o, p in zip(lengths.productions, lengths.log_probabilities, strict=True)}
    for story in STORIES[:200]:
        parts = [shares[len(story.sentences)], *(s.log_probability for s in story.sentences)]
        assert isclose(WORLD.log_probability(story.text), fsum(parts), abs_tol=1e-9)


def test_tables_of_small_choices_list_every_derivation_once_with_its_probability():
    grammar = WORLD._grammar
    labour, fact = grammar.work_phrase(LEXICON.jobs[0]), grammar.capital_clause(LEXICON.cities[1])
    for nonterminal in (grammar.nominal("inanimate", "plural"), labour, fact):
        found = list(derivation_probabilities(nonterminal))
        assert len(found) == nonterminal.size and isclose(fsum(found), 1.0, abs_tol=1e-9)
        nodes = [nth_derivation(nonterminal, at) for at in range(nonterminal.size)]
        assert len({node.text for node in nodes}) == nonterminal.size
        assert all(isclose(exp(node.log_probability), p, rel_tol=1e-9) for node, p in zip(nodes, found, strict=True))


def test_stories_depend_on_seed_and_index_alone():
    assert World(seed=5).annotate(77) == STORIES[77]
    assert World(seed=5).annotate(77).text == next(WORLD.documents(1, 77))


# --- lexical data ---------------------------------------------------------------------------------------------------


def test_analogies_and_classes():
    capitals = {city.name: city.country for city in LEXICON.cities}
    found = list(analogies(LEXICON))
    assert len(found) > 5000 and len({a.section for a in found}) == 5
    for analogy in found:
        first, second, third, fourth = analogy.words
        assert first != third
        if analogy.section == "capital-country":
            assert capitals[first] == second and capitals[third] == fourth
    words = [word for group in classes(LEXICON).values() for word in group]
    assert len(set(words)) == len(words)
    assert {pair.score for pair in similarities(LEXICON)} == {0.0, 1.0, 3.0}


@pytest.mark.parametrize("words", [60, 200, 1000, 3000])
def test_the_vocabulary_can_be_cut_and_filled_up(words):
    lexicon = resize_lexicon(words)
    assert abs(len(all_word_forms(lexicon)) - words) < 0.2 * words
    world = World(lexicon=lexicon)
    for story in world.annotated_documents(20):
        assert -inf < world.log_probability(story.text) < 0
        assert all(constituents(s.tree)[1] for s in story.sentences)
    stems = world._grammar.inflector.second_language.stems
    assert len(set(stems.values())) == len(stems)


def test_too_small_a_world():
    with pytest.raises(FirthError, match="60 or more"):
        resize_lexicon(10)


# --- as records -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", GOLD)
def test_every_task_has_records(task):
    found, again = list(records(WORLD, task, 5, 10)), list(records(World(seed=5), task, 5, 10))
    assert found and repr(found) == repr(again)


@pytest.mark.parametrize(
    ("task", "form"),
    [("parsing", "conllu"), ("constituency", "trees"), ("sentiment-trees", "trees"), ("tagging", "columns"),
     ("question-answering", "squad"), ("translation", "parallel"), ("alignments", "alignments"),
     ("analogy", "analogy"), ("word-similarity", "similarity"), ("classification", "labels")],
)  # fmt: skip
def test_what_is_written_can_be_read(task, form, tmp_path):
    found = list(records(WORLD, task, 40))
    path = tmp_path / "world"
    chosen = readers.get_format(form, ["layers=upos,entity"] if form == "columns" else [])
    numbered_lines.save_lines(path, chosen.rows(found))
    assert [again._replace(line=0) for again in chosen.read(path)] == [record._replace(line=0) for record in found]


def test_every_tree_is_binary_and_carries_the_sentiment_at_its_root():
    for s in SENTENCES[:2000]:
        tree = sentiment_tree(s)
        assert all(len(node.children) in (0, 2) for node in trees.nodes(tree))
        assert trees.leaves(tree) == list(s.words)
        assert (int(tree.label) > 2) - (int(tree.label) < 2) == {"good": 1, "neutral": 0, "bad": -1}[s.sentiment]

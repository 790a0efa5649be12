"""Pseudo-words of the world: they are made of their words, and the posterior of their senses is exact."""

from __future__ import annotations

import re
from math import exp, isclose, sqrt

from firth.datasets.world import World
from firth.datasets.world.ambiguous_words import POOL_INDEX, POOL_STORIES, pseudo_forms, sense_posteriors
from firth.datasets.world.definitions import definitions, definitions_by_word
from firth.datasets.world.gold import records
from firth.datasets.world.lexicon import LEXICON
from firth.datasets.world.vocabulary_size import all_word_forms, resize_lexicon

WORLD = World(seed=7)
FORMS = pseudo_forms(LEXICON)
NAMES = {word: definition.name for word, definition in definitions_by_word(LEXICON).items()}
CONTENT = {"NOUN", "VERB", "ADJ"}


def test_a_pseudo_word_is_new_and_has_two_senses_of_one_part_of_speech():
    known, merged = definitions_by_word(LEXICON), {new for new, _, _ in FORMS.forms.values()}
    assert len(FORMS.words) == 40 and not merged & all_word_forms(LEXICON)
    for word, pseudo in FORMS.words.items():
        assert word == "".join(pseudo.senses) and {known[sense].pos for sense in pseudo.senses} == {pseudo.pos}
    assert len({new for new, _, _ in FORMS.forms.values()}) * 2 == len(FORMS.forms)  # each merges two forms


def test_records_are_the_sentences_with_one_pseudo_word_each():
    sentences = [sentence for story in WORLD.annotated_documents(100) for sentence in story.sentences]
    found, count = iter(records(WORLD, "senses", 100)), 0
    for sentence in sentences:
        for position, (word, lemma) in enumerate(zip(sentence.words, sentence.lemmas, strict=True)):
            if word not in FORMS.forms:
                continue
            record, count = next(found), count + 1
            changed = {n for n, (a, b) in enumerate(zip(sentence.words, record.words, strict=True)) if a != b}
            assert record.position == position and position in changed
            assert record.sense == NAMES[lemma] and lemma in FORMS.words[record.word].senses
            assert all(FORMS.forms[sentence.words[n]][1] == record.word for n in changed)
    assert next(found, None) is None and count > 800


def test_the_posterior_is_that_of_the_documents_themselves():
    """Against the probability of the whole document with either word."""
    checked = 0
    for number in range(12):
        text = next(WORLD.documents(1, number))
        for record, posterior in sense_posteriors(WORLD, number):
            forms = [form for form, entry in FORMS.forms.items() if entry[0] == record.words[record.position]]
            merged = {entry[0] for entry in FORMS.forms.values() if entry[1] == record.word}
            if sum(word in merged for word in record.words) > 1:
                continue
            meant = next(form for form in forms if NAMES[FORMS.forms[form][2]] == record.sense)
            if len(re.findall(rf"\b{meant}\b", text)) != 1:
                continue
            weights = {form: exp(WORLD.log_probability(re.sub(rf"\b{meant}\b", form, text))) for form in forms}
            for form, weight in weights.items():
                expected, found = weight / sum(weights.values()), posterior.get(NAMES[FORMS.forms[form][2]], 0.0)
                assert isclose(found, expected, rel_tol=1e-6, abs_tol=1e-9)
            checked += 1
    assert checked > 30


def test_the_posterior_is_calibrated():
    """Its most probable sense is right as often as it says: the accuracy that no method exceeds."""
    pairs = [pair for number in range(60) for pair in sense_posteriors(WORLD, number)]
    best = [max(posterior.values()) for _, posterior in pairs]
    right = [max(posterior, key=posterior.get) == record.sense for record, posterior in pairs]
    deviation = sqrt(sum(p * (1 - p) for p in best)) / len(best)
    assert abs(sum(right) - sum(best)) / len(best) < 4 * deviation
    assert 0.85 < sum(best) / len(best) < 0.95


def test_words_in_context_have_the_same_sense_or_another():
    """The second sentence's sense is found by looking for it in the stories it comes from."""
    pairs = list(records(WORLD, "words-in-context", 200))
    labels = [pair.label for pair in pairs]
    assert 0.4 < labels.count("T") / len(labels) < 0.6
    first = {(record.words, record.position): record.sense for record in records(WORLD, "senses", 200)}
    pool = {
        (record.words, record.position): record.sense for record in records(WORLD, "senses", POOL_STORIES, POOL_INDEX)
    }
    for pair in pairs:
        fields = dict(pair.fields)
        left, right = map(int, fields["positions"].split("-"))
        senses = first[tuple(pair.left.split()), left], pool[tuple(pair.right.split()), right]
        assert (senses[0] == senses[1]) == (pair.label == "T")
        assert set(senses) <= {NAMES[sense] for sense in FORMS.words[fields["word"]].senses}


def test_every_content_word_has_a_definition_below_a_known_one():
    known = definitions_by_word(LEXICON)
    missing = {
        lemma
        for story in WORLD.annotated_documents(100)
        for sentence in story.sentences
        for lemma, upos, xpos in zip(sentence.lemmas, sentence.upos, sentence.xpos, strict=True)
        if upos in CONTENT and xpos != "JJR" and lemma not in known
    }
    assert not missing
    seen: set[str] = set()
    for definition in definitions(LEXICON):
        assert not definition.hypernym or definition.hypernym in seen
        assert definition.gloss and not seen & set(definition.words), definition
        seen |= set(definition.words)


def test_a_lexicon_of_another_size_has_pseudo_words_too():
    small = resize_lexicon(200)
    assert len(pseudo_forms(small).words) >= 10
    assert list(records(World(lexicon=small), "senses", 3))

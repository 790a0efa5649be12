"""Compiled loops over a packed n-gram model: scoring, incremental states, next-token distributions.

A state is a trie node, the longest known context. A known continuation costs one lookup, whatever the order; else the
backoff weight is added and the suffix link, the longest known shorter context, is tried next. The fields of a node are
adjacent in memory. Nodes with few children are searched linearly, those with many through a hash table.
"""

from __future__ import annotations

import numpy as np

from firth.jit import inline_kernel, kernel

FIRST, LINK, BACKOFF, LOGPROB = 0, 1, 2, 3  # columns of the nodes below the highest order; the last two are float32
LEAF_LINK, LEAF_LOGPROB = 0, 1  # columns of those of the highest order
_MAX_LINEAR_SEARCH = 8  # children
_LANES = 8  # positions of the text that are scored in an interleaved way
_LANE_TOKENS = 1 << 10  # tokens that a lane scores before it moves to the next unscored block
_EMPTY = np.int64(-1)
_MIX, _MORE = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


@inline_kernel
def _hash(node, word):
    """A hash of an n-gram by its context and its last token."""
    code = ((np.uint64(node) << _HALF) | np.uint64(word)) * _MIX
    code = (code ^ (code >> _HALF)) * _MORE
    return code ^ (code >> _HALF)


@inline_kernel
def _find(words, nodes, slots, node, word):
    """Return the child of a node for a word, or −1. A hash table slot holds half the hash and the child's index."""
    low, high, match = np.int64(nodes[node, FIRST]), np.int64(nodes[node + 1, FIRST]), np.int64(-1)
    if high - low <= _MAX_LINEAR_SEARCH:
        for child in range(low, high):
            if words[child] == word:
                match = child
    else:
        hashed = _hash(node, word)
        tag = np.int64(hashed & _LOW) >> 1
        slot = np.int64(((hashed >> _HALF) * np.uint64(len(slots))) >> _HALF)
        while slots[slot] != _EMPTY:
            child = slots[slot] & 0xFFFFFFFF
            if slots[slot] >> 32 == tag and words[child] == word and low <= child < high:
                match = child
                break
            slot = slot + 1 if slot + 1 < len(slots) else 0
    return match


@kernel
def hash_table_size(nodes):
    """Return the number of nodes that go into the hash table."""
    count = 0
    for node in range(len(nodes) - 1):
        size = nodes[node + 1, FIRST] - nodes[node, FIRST]
        count += size if size > _MAX_LINEAR_SEARCH else 0
    return count


@kernel
def fill_hash_table(words, nodes, slots):
    """Fill the hash table, which must be empty and large enough."""
    for node in range(len(nodes) - 1):
        low, high = np.int64(nodes[node, FIRST]), np.int64(nodes[node + 1, FIRST])
        if high - low > _MAX_LINEAR_SEARCH:
            for child in range(low, high):
                code = _hash(node, words[child])
                slot = np.int64(((code >> _HALF) * np.uint64(len(slots))) >> _HALF)
                while slots[slot] != _EMPTY:
                    slot = slot + 1 if slot + 1 < len(slots) else 0
                slots[slot] = (np.int64(code & _LOW) >> 1) << 32 | child


@kernel
def score(
    ids, starts, low, high, levels, words, nodes, numbers, leaves, leaf_numbers, slots, start, end, logprobs, orders
):
    """Write the log-probabilities and orders of tokens low..high; False if a token is out of the vocabulary.

    Memory latency dominates, so several positions of the text (lanes) are interleaved: first the next reads of all
    lanes are issued, then each lane takes a step. A lane scores a block of tokens and moves to the next one; it starts
    order − 1 tokens early, which lead from any state to the right one."""
    inner, size, order_count, last_slot = np.int64(len(nodes) - 1), levels[1], len(levels) - 1, len(slots) - 1
    begin, slot_count = np.int64(start if inner else -1), np.uint64(len(slots))
    at, stop, block_start = np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64)
    document, document_end = np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64)
    state, total = np.zeros(_LANES, np.int64), np.zeros(_LANES, np.float64)
    lows, highs, slot_of = np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64)
    tags, read = np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64)
    next_block, active = low, _LANES
    while active:
        lane = 0
        while lane < active:
            if at[lane] == stop[lane] and next_block >= high:
                active -= 1
                at[lane], stop[lane], block_start[lane] = at[active], stop[active], block_start[active]
                document[lane], document_end[lane] = document[active], document_end[active]
                state[lane], total[lane] = state[active], total[active]
                continue
            if at[lane] == stop[lane]:
                document[lane] = np.searchsorted(starts, next_block, side="right") - 1
                first = starts[document[lane]]
                at[lane] = max(first, next_block - order_count + 1)
                state[lane] = begin if at[lane] == first else -1
                block_start[lane], stop[lane] = next_block, min(next_block + _LANE_TOKENS, high)
                document_end[lane], next_block = starts[document[lane] + 1], stop[lane]
            if ids[at[lane]] >= size:
                return False
            if state[lane] >= 0:
                lows[lane], highs[lane] = nodes[state[lane], FIRST], nodes[state[lane] + 1, FIRST]
            lane += 1
        for lane in range(active):
            if state[lane] < 0 or highs[lane] == lows[lane]:
                read[lane] = -1
            elif highs[lane] - lows[lane] > _MAX_LINEAR_SEARCH:
                hashed = _hash(state[lane], np.int64(ids[at[lane]]))
                slot_of[lane] = np.int64(((hashed >> _HALF) * slot_count) >> _HALF)
                tags[lane], read[lane] = np.int64(hashed & _LOW) >> 1, slots[slot_of[lane]]
            else:
                read[lane] = words[lows[lane]]
        for lane in range(active):
            word, node = np.int64(ids[at[lane]]), state[lane]
            match = word
            if node >= 0:  # as in _find
                match, child, value = np.int64(-1), lows[lane], read[lane]
                if highs[lane] - child > _MAX_LINEAR_SEARCH:
                    slot = slot_of[lane]
                    while value != _EMPTY:
                        child = value & 0xFFFFFFFF
                        if value >> 32 == tags[lane] and words[child] == word and lows[lane] <= child < highs[lane]:
                            match = child
                            break
                        slot = slot + 1 if slot < last_slot else 0
                        value = slots[slot]
                else:
                    if value == word:
                        match = child
                    for other in range(child + 1, highs[lane]):
                        if words[other] == word:
                            match = other
                if match < 0:
                    total[lane] += np.float64(numbers[node, BACKOFF])
                    state[lane] = nodes[node, LINK]
                    continue
            if match < inner:
                own, node = np.float64(numbers[match, LOGPROB]), match
            else:
                own, node = np.float64(leaf_numbers[match - inner, LEAF_LOGPROB]), leaves[match - inner, LEAF_LINK]
            if at[lane] >= block_start[lane]:
                logprobs[at[lane]] = total[lane] + own
                order = 1
                for level in range(1, order_count):
                    order += np.int64(match >= levels[level])
                orders[at[lane]] = order
            total[lane] = 0.0
            at[lane] += 1
            if word == end:
                node = begin
            if at[lane] == document_end[lane] and at[lane] < stop[lane]:
                document[lane] += 1
                while starts[document[lane] + 1] == at[lane]:
                    document[lane] += 1
                document_end[lane], node = starts[document[lane] + 1], begin
            state[lane] = node
    return True


@kernel
def add_end_tokens(word_ids, starts, start, end, unknown, ids):
    """Append an end token to each line; special tokens and negative ids become unknown. False if there is none."""
    for line in range(len(starts) - 1):
        for at in range(starts[line], starts[line + 1]):
            word = word_ids[at]
            if word < 0 or word in (start, end):
                if unknown < 0:
                    return False
                word = unknown
            ids[at + line] = word
        ids[starts[line + 1] + line] = end
    return True


@kernel
def advance(states, tokens, size, words, nodes, leaves, slots, start, end):
    """Update the states in place by one token each; negative tokens are skipped. False if a token is too large."""
    inner = np.int64(len(nodes) - 1)
    for row in range(len(states)):
        word, node, match = np.int64(tokens[row]), np.int64(states[row]), np.int64(-1)
        if word >= size:
            return False
        if word < 0:
            continue
        while node >= 0 and match < 0:
            match = _find(words, nodes, slots, node, word)
            node = np.int64(nodes[node, LINK])
        if match < 0:
            match = word
        states[row] = match if match < inner else leaves[match - inner, LEAF_LINK]
        if word in (start, end):
            states[row] = start if inner else -1
    return True


@kernel
def distribute(states, words, nodes, numbers, leaf_numbers, logprobs):
    """Write next-token log-probabilities after each state: the same sums in the same order as `score`."""
    inner, size = len(nodes) - 1, logprobs.shape[1]
    chain, weights = np.empty(64, np.int64), np.empty(64, np.float64)  # longer than any n-gram
    for row in range(len(states)):
        node, depth, total = np.int64(states[row]), 0, 0.0
        while node >= 0:
            chain[depth], weights[depth] = node, total
            total += np.float64(numbers[node, BACKOFF])
            node = np.int64(nodes[node, LINK])
            depth += 1
        for word in range(size):
            value = numbers[word, LOGPROB] if inner else leaf_numbers[word, LEAF_LOGPROB]
            logprobs[row, word] = total + np.float64(value)
        for step in range(depth - 1, -1, -1):
            for child in range(nodes[chain[step], FIRST], nodes[chain[step] + 1, FIRST]):
                value = numbers[child, LOGPROB] if child < inner else leaf_numbers[child - inner, LEAF_LOGPROB]
                logprobs[row, words[child]] = weights[step] + np.float64(value)


@kernel
def is_valid(levels, words, nodes, leaves, slots):
    """Whether every kernel stays within these arrays and terminates: validates a file's content."""
    size, inner, count, empty = levels[1], len(nodes) - 1, len(words), 0
    for node in range(inner):
        if nodes[node, FIRST] > nodes[node + 1, FIRST] or nodes[node, FIRST] <= node:
            return False
        if not -1 <= nodes[node, LINK] < (node if node >= size else 0):
            return False
    if nodes[inner, FIRST] != count or (inner and nodes[0, FIRST] != size):
        return False
    for leaf in range(len(leaves)):
        if not -1 <= leaves[leaf, LEAF_LINK] < inner:
            return False
    for node in range(count):
        if not 0 <= words[node] < size or (node < size and words[node] != node):
            return False
    for slot in range(len(slots)):
        if slots[slot] == _EMPTY:
            empty += 1
        elif slots[slot] < 0 or (slots[slot] & 0xFFFFFFFF) >= count:
            return False
    return empty > 0

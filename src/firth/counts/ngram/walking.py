"""The loops over a finished model: scoring, stepping, distributions.

A state is the longest known context, a node. A known continuation costs one search, whatever the order; else the
context's weight is added and its link, the longest known shorter context, is tried next. All about a node lies
together in memory. The few children of most nodes are searched one by one, the many of others through a hash table.
"""

from __future__ import annotations

import numpy as np

from firth.counts.compiled import kernel, part

FIRST, LINK, BACKOFF, LOGPROB = 0, 1, 2, 3  # columns of the nodes below the highest order; the last two are float32
LEAF_LINK, LEAF_LOGPROB = 0, 1  # columns of those of the highest order
_FEW = 8  # children that are searched one by one
_LANES = 8  # places of the text that are scored in turn
_STRETCH = 1 << 10  # tokens that a lane scores before it takes others
_EMPTY = np.int64(-1)
_MIX, _MORE = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


@part
def _code(node, word):
    """A hash of an n-gram by its context and its last token."""
    code = ((np.uint64(node) << _HALF) | np.uint64(word)) * _MIX
    code = (code ^ (code >> _HALF)) * _MORE
    return code ^ (code >> _HALF)


@part
def _find(words, nodes, slots, node, word):
    """The child of a node with this word, or −1. A slot holds half the hash and the child's number."""
    low, high, found = np.int64(nodes[node, FIRST]), np.int64(nodes[node + 1, FIRST]), np.int64(-1)
    if high - low <= _FEW:
        for child in range(low, high):
            if words[child] == word:
                found = child
    else:
        code = _code(node, word)
        tag = np.int64(code & _LOW) >> 1
        slot = np.int64(((code >> _HALF) * np.uint64(len(slots))) >> _HALF)
        while slots[slot] != _EMPTY:
            child = slots[slot] & 0xFFFFFFFF
            if slots[slot] >> 32 == tag and words[child] == word and low <= child < high:
                found = child
                break
            slot = slot + 1 if slot + 1 < len(slots) else 0
    return found


@kernel
def hashed(nodes):
    """How many nodes the hash table holds."""
    count = 0
    for node in range(len(nodes) - 1):
        size = nodes[node + 1, FIRST] - nodes[node, FIRST]
        count += size if size > _FEW else 0
    return count


@kernel
def put(words, nodes, slots):
    """Fill the hash table, which is empty and large enough."""
    for node in range(len(nodes) - 1):
        low, high = np.int64(nodes[node, FIRST]), np.int64(nodes[node + 1, FIRST])
        if high - low > _FEW:
            for child in range(low, high):
                code = _code(node, words[child])
                slot = np.int64(((code >> _HALF) * np.uint64(len(slots))) >> _HALF)
                while slots[slot] != _EMPTY:
                    slot = slot + 1 if slot + 1 < len(slots) else 0
                slots[slot] = (np.int64(code & _LOW) >> 1) << 32 | child


@kernel
def score(
    ids, starts, low, high, levels, words, nodes, numbers, leaves, leaf_numbers, slots, start, end, logprobs, orders
):
    """Log-probabilities of tokens low..high; False if one is not in the vocabulary.

    Waiting for memory is most of the work, so several places of the text (lanes) are scored in turn: first what each
    needs next is read, then each goes a step on. A lane scores a stretch and takes the next; it sets out a few tokens
    before it, which lead from any state into the right one."""
    inner, size, order_count, last_slot = np.int64(len(nodes) - 1), levels[1], len(levels) - 1, len(slots) - 1
    begin, slot_count = np.int64(start if inner else -1), np.uint64(len(slots))
    at, stop, counts = np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64)
    document, edge = np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64)
    state, total = np.zeros(_LANES, np.int64), np.zeros(_LANES, np.float64)
    lows, highs, slot_of = np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64)
    tags, read = np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64)
    following, active = low, _LANES
    while active:
        lane = 0
        while lane < active:
            if at[lane] == stop[lane] and following >= high:
                active -= 1
                at[lane], stop[lane], counts[lane] = at[active], stop[active], counts[active]
                document[lane], edge[lane] = document[active], edge[active]
                state[lane], total[lane] = state[active], total[active]
                continue
            if at[lane] == stop[lane]:
                document[lane] = np.searchsorted(starts, following, side="right") - 1
                first = starts[document[lane]]
                at[lane] = max(first, following - order_count + 1)
                state[lane] = begin if at[lane] == first else -1
                counts[lane], stop[lane] = following, min(following + _STRETCH, high)
                edge[lane], following = starts[document[lane] + 1], stop[lane]
            if ids[at[lane]] >= size:
                return False
            if state[lane] >= 0:
                lows[lane], highs[lane] = nodes[state[lane], FIRST], nodes[state[lane] + 1, FIRST]
            lane += 1
        for lane in range(active):
            if state[lane] < 0 or highs[lane] == lows[lane]:
                read[lane] = -1
            elif highs[lane] - lows[lane] > _FEW:
                code = _code(state[lane], np.int64(ids[at[lane]]))
                slot_of[lane] = np.int64(((code >> _HALF) * slot_count) >> _HALF)
                tags[lane], read[lane] = np.int64(code & _LOW) >> 1, slots[slot_of[lane]]
            else:
                read[lane] = words[lows[lane]]
        for lane in range(active):
            word, node = np.int64(ids[at[lane]]), state[lane]
            found = word
            if node >= 0:  # as in _find
                found, child, value = np.int64(-1), lows[lane], read[lane]
                if highs[lane] - child > _FEW:
                    slot = slot_of[lane]
                    while value != _EMPTY:
                        child = value & 0xFFFFFFFF
                        if value >> 32 == tags[lane] and words[child] == word and lows[lane] <= child < highs[lane]:
                            found = child
                            break
                        slot = slot + 1 if slot < last_slot else 0
                        value = slots[slot]
                else:
                    if value == word:
                        found = child
                    for other in range(child + 1, highs[lane]):
                        if words[other] == word:
                            found = other
                if found < 0:
                    total[lane] += np.float64(numbers[node, BACKOFF])
                    state[lane] = nodes[node, LINK]
                    continue
            if found < inner:
                own, node = np.float64(numbers[found, LOGPROB]), found
            else:
                own, node = np.float64(leaf_numbers[found - inner, LEAF_LOGPROB]), leaves[found - inner, LEAF_LINK]
            if at[lane] >= counts[lane]:
                logprobs[at[lane]] = total[lane] + own
                order = 1
                for place in range(1, order_count):
                    order += np.int64(found >= levels[place])
                orders[at[lane]] = order
            total[lane] = 0.0
            at[lane] += 1
            if word == end:
                node = begin
            if at[lane] == edge[lane] and at[lane] < stop[lane]:
                document[lane] += 1
                while starts[document[lane] + 1] == at[lane]:
                    document[lane] += 1
                edge[lane], node = starts[document[lane] + 1], begin
            state[lane] = node
    return True


@kernel
def close(numbers, starts, start, end, unknown, ids):
    """Put an end behind each line; marks and numbers below 0 become the unknown token. False if there is none."""
    for line in range(len(starts) - 1):
        for at in range(starts[line], starts[line + 1]):
            number = numbers[at]
            if number < 0 or number in (start, end):
                if unknown < 0:
                    return False
                number = unknown
            ids[at + line] = number
        ids[starts[line + 1] + line] = end
    return True


@kernel
def advance(states, tokens, size, words, nodes, leaves, slots, start, end):
    """The states after one more token each, in place; below 0 there is no token. False if one is too large."""
    inner = np.int64(len(nodes) - 1)
    for row in range(len(states)):
        word, node, found = np.int64(tokens[row]), np.int64(states[row]), np.int64(-1)
        if word >= size:
            return False
        if word < 0:
            continue
        while node >= 0 and found < 0:
            found = _find(words, nodes, slots, node, word)
            node = np.int64(nodes[node, LINK])
        if found < 0:
            found = word
        states[row] = found if found < inner else leaves[found - inner, LEAF_LINK]
        if word in (start, end):
            states[row] = start if inner else -1
    return True


@kernel
def distribute(states, words, nodes, numbers, leaf_numbers, out):
    """Log-probabilities of every token after each state: the same sums, in the same order, as `score` makes."""
    inner, size = len(nodes) - 1, out.shape[1]
    chain, above = np.empty(64, np.int64), np.empty(64, np.float64)  # no n-gram is so long
    for row in range(len(states)):
        node, depth, total = np.int64(states[row]), 0, 0.0
        while node >= 0:
            chain[depth], above[depth] = node, total
            total += np.float64(numbers[node, BACKOFF])
            node = np.int64(nodes[node, LINK])
            depth += 1
        for word in range(size):
            own = numbers[word, LOGPROB] if inner else leaf_numbers[word, LEAF_LOGPROB]
            out[row, word] = total + np.float64(own)
        for place in range(depth - 1, -1, -1):
            for child in range(nodes[chain[place], FIRST], nodes[chain[place] + 1, FIRST]):
                own = numbers[child, LOGPROB] if child < inner else leaf_numbers[child - inner, LEAF_LOGPROB]
                out[row, words[child]] = above[place] + np.float64(own)


@kernel
def sound(levels, words, nodes, leaves, slots):
    """Whether no loop over these arrays can leave them or run for ever: for what comes from a file."""
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

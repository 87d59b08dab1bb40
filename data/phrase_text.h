// Draws sentences of a small grammar.
#ifndef DATA_PHRASE_TEXT_H_
#define DATA_PHRASE_TEXT_H_

#include <cstdint>
#include <string>

namespace ps {

// Returns `count` sentences, each on its own line, with single spaces between
// words. Sentence i depends on (key, i) alone. The choice of a word depends on
// the words before it: nouns and verbs agree in number, and a sentence is about
// one of four subjects, each with its own words. There are 169 words in all.
std::string DrawSentences(uint64_t key, int64_t count);

}  // namespace ps

#endif  // DATA_PHRASE_TEXT_H_

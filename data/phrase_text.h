// Sentences of a small grammar.
#ifndef DATA_PHRASE_TEXT_H_
#define DATA_PHRASE_TEXT_H_

#include <cstdint>
#include <string>

namespace ps {

// So many sentences, each on a line, words with single spaces between them.
// Sentence i depends on (key, i) alone. What a word may be depends on words
// before it: nouns and verbs agree in number, and a sentence is about one of
// four subjects, each with words of its own. 169 words in all.
std::string DrawSentences(uint64_t key, int64_t count);

}  // namespace ps

#endif  // DATA_PHRASE_TEXT_H_

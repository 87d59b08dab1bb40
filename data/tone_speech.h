// Spells words in chords: synthetic sound for trying a speech model.
#ifndef DATA_TONE_SPEECH_H_
#define DATA_TONE_SPEECH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/random.h"

namespace ps {

constexpr int64_t kToneSampleRate = 8000;

// Draws one to three words of a short list, in capitals with spaces between
// them.
std::string DrawWords(RandomStream* random);

// Draws sound. Each letter is two simultaneous tones. The letter determines
// their pitches; random draws determine the length, the loudness and a small
// variation of the pitch. There is a short silence between letters, and a
// longer one between words. `text` has A to Z and spaces. noise: deviation of
// white noise, relative to a chord's largest amplitude.
std::vector<int16_t> DrawTones(const std::string& text, double noise,
                               RandomStream* random);

}  // namespace ps

#endif  // DATA_TONE_SPEECH_H_

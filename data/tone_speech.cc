#include "data/tone_speech.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "glog/logging.h"

namespace ps {
namespace {

constexpr double kTurn = 6.283185307179586;

// The amplitude of a chord, relative to a sample's range: two tones and noise
// of 4 deviations do not overflow.
constexpr double kAmplitude = 0.2;

constexpr const char* kWords[] = {
    "ZERO",  "ONE",   "TWO",  "THREE", "FOUR",  "FIVE", "SIX",   "SEVEN",
    "EIGHT", "NINE",  "TEN",  "YES",   "NO",    "GO",   "STOP",  "START",
    "LEFT",  "RIGHT", "UP",   "DOWN",  "APRIL", "MAY",  "JUNE",  "JULY",
    "QUIT",  "HELP",  "WAVE", "BOX",   "KEY",   "COLD", "PAPER", "ENTER"};

struct Chord {
  double low;  // Hertz.
  double high;
};

Chord ChordOf(char letter) {
  const int number = letter - 'A';
  CHECK_GE(number, 0);
  CHECK_LT(number, 26);
  return {400 + 150.0 * (number % 6), 1500 + 400.0 * (number / 6)};
}

int64_t SamplesOf(double seconds) {
  return static_cast<int64_t>(seconds * static_cast<double>(kToneSampleRate));
}

void AppendSilence(double seconds, std::vector<double>* sound) {
  sound->insert(sound->end(), SamplesOf(seconds), 0.0);
}

void AppendChord(const Chord& chord, RandomStream* random,
                 std::vector<double>* sound) {
  const int64_t length = SamplesOf(random->Uniform(0.09, 0.15));
  const double loudness = kAmplitude * random->Uniform(0.4, 1);
  // Varies the pitch of the voice slightly.
  const double pitch = random->Uniform(0.97, 1.03);
  const double phase = random->Uniform();
  const double low = chord.low * pitch / kToneSampleRate;
  const double high = chord.high * pitch / kToneSampleRate;
  for (int64_t i = 0; i < length; ++i) {
    const double t = static_cast<double>(i);
    // Fades in and out.
    const double fade = std::sin(kTurn / 2 * (t + 0.5) / length);
    sound->push_back(
        loudness * fade *
        (std::sin(kTurn * (low * t + phase)) + std::sin(kTurn * high * t)));
  }
}

}  // namespace

std::string DrawWords(RandomStream* random) {
  std::string text;
  for (uint64_t rest = 1 + random->Below(3); rest > 0; --rest) {
    if (!text.empty()) text += ' ';
    text += kWords[random->Below(std::size(kWords))];
  }
  return text;
}

std::vector<int16_t> DrawTones(const std::string& text, double noise,
                               RandomStream* random) {
  std::vector<double> sound;
  AppendSilence(random->Uniform(0.05, 0.15), &sound);
  for (const char letter : text) {
    if (letter == ' ') {
      AppendSilence(random->Uniform(0.1, 0.2), &sound);
    } else {
      AppendChord(ChordOf(letter), random, &sound);
      AppendSilence(random->Uniform(0.02, 0.05), &sound);
    }
  }
  AppendSilence(random->Uniform(0.05, 0.15), &sound);
  std::vector<int16_t> samples;
  samples.reserve(sound.size());
  for (const double value : sound) {
    const double noisy = value + noise * kAmplitude * random->Normal();
    samples.push_back(static_cast<int16_t>(
        std::lround(std::clamp(noisy, -1.0, 1.0) * 32767)));
  }
  return samples;
}

}  // namespace ps

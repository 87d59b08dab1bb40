#include "data/token_windows.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace ps {
namespace {

// Batches hold tokens as floats, which represent integers exactly up to here.
constexpr int64_t kMaxVocabulary = int64_t{1} << 24;

class TokenWindows final : public Dataset {
 public:
  TokenWindows(TokenText text, int64_t steps)
      : text_(std::move(text)), steps_(steps) {}

  ExampleShape example_shape() const override {
    ExampleShape shape;
    shape.task = text_.task;
    shape.steps = steps_;
    shape.num_classes = text_.vocabulary_size;
    return shape;
  }

  int64_t size() const override {
    return (num_labels() + (text_.for_evaluation ? steps_ - 1 : 0)) / steps_;
  }

  ExampleOrder order() const override { return ExampleOrder::kSequential; }

  absl::Status Read(absl::Span<const int64_t> numbers, int64_t epoch,
                    Batch* batch) const override {
    const int64_t rows = static_cast<int64_t>(numbers.size());
    int64_t steps = steps_;
    for (const int64_t number : numbers) {
      if (number < 0 || number >= size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("window ", number, " of ", size()));
      }
      steps = std::min(steps, num_labels() - number * steps_);
    }
    if (steps < steps_ && rows > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("window ", size() - 1, " has ", steps, " of ", steps_,
                       " tokens; it must be read alone"));
    }
    const int64_t begin =
        !text_.for_evaluation && epoch % 2 == 1 ? num_labels() % steps_ : 0;
    batch->steps = steps;
    batch->inputs.resize(steps * rows);
    batch->labels.resize(steps * rows);
    for (int64_t row = 0; row < rows; ++row) {
      const int32_t* token = &text_.tokens[begin + numbers[row] * steps_];
      for (int64_t step = 0; step < steps; ++step) {
        batch->inputs[step * rows + row] = static_cast<float>(token[step]);
        batch->labels[step * rows + row] = token[step + 1];
      }
    }
    return absl::OkStatus();
  }

 private:
  // The first token is only an input, and the last one only a label.
  int64_t num_labels() const {
    return static_cast<int64_t>(text_.tokens.size()) - 1;
  }

  const TokenText text_;
  const int64_t steps_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> NewTokenWindows(TokenText text,
                                                         int64_t steps) {
  CHECK_GE(steps, 1);
  if (text.vocabulary_size > kMaxVocabulary) {
    return absl::InvalidArgumentError(
        absl::StrCat("a vocabulary of ", text.vocabulary_size,
                     " words; must be at most ", kMaxVocabulary));
  }
  const int64_t num_tokens = static_cast<int64_t>(text.tokens.size());
  if (text.for_evaluation && num_tokens < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a text of ", num_tokens,
        " tokens has none that follows another; needs at least 2"));
  }
  if (!text.for_evaluation && num_tokens <= steps) {
    return absl::InvalidArgumentError(
        absl::StrCat("a text of ", num_tokens, " tokens does not fill one ",
                     "window of ", steps, " and the token after it"));
  }
  return std::make_unique<TokenWindows>(std::move(text), steps);
}

}  // namespace ps

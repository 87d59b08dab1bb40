#include "data/token_windows.h"

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

  // The very last token is only a label.
  int64_t size() const override {
    return (static_cast<int64_t>(text_.tokens.size()) - 1) / steps_;
  }

  ExampleOrder order() const override { return ExampleOrder::kSequential; }

  absl::Status Read(absl::Span<const int64_t> numbers, int64_t /*epoch*/,
                    Batch* batch) const override {
    for (const int64_t number : numbers) {
      if (number < 0 || number >= size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("window ", number, " of ", size()));
      }
    }
    const int64_t rows = static_cast<int64_t>(numbers.size());
    batch->steps = steps_;
    batch->inputs.resize(steps_ * rows);
    batch->labels.resize(steps_ * rows);
    for (int64_t row = 0; row < rows; ++row) {
      const int32_t* token = &text_.tokens[numbers[row] * steps_];
      for (int64_t step = 0; step < steps_; ++step) {
        batch->inputs[step * rows + row] = static_cast<float>(token[step]);
        batch->labels[step * rows + row] = token[step + 1];
      }
    }
    return absl::OkStatus();
  }

 private:
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
  if (num_tokens <= steps) {
    return absl::InvalidArgumentError(
        absl::StrCat("a text of ", num_tokens, " tokens does not fill one ",
                     "window of ", steps, " and the token after it"));
  }
  return std::make_unique<TokenWindows>(std::move(text), steps);
}

}  // namespace ps

#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/layer_parallel/cut_variables.h"

namespace ps {
namespace {

// Keeps variables for each example. The memory is allocated when the first
// example is recorded: until then, snapshots are small, and programs that only
// look at a job need none.
class StoredVariables final : public CutVariables {
 public:
  StoredVariables(const CutOptions& options, int64_t num_examples)
      : options_(options),
        row_size_(options.row_size()),
        num_examples_(num_examples) {}

  absl::Status Fetch(const Examples& examples, CutBatch* cut) override {
    if (variables_.empty()) {
      return absl::DataLossError(
          "a snapshot says that auxiliary variables were recorded, and has "
          "none");
    }
    Gather(examples, variables_, &cut->variables);
    Gather(examples, multipliers_, &cut->multipliers);
    return absl::OkStatus();
  }

  absl::Status Store(const Examples& examples, const CutBatch& cut) override {
    Scatter(examples, cut.variables, &variables_);
    Scatter(examples, cut.multipliers, &multipliers_);
    return absl::OkStatus();
  }

  absl::Status Record(const Examples& examples,
                      const std::vector<float>& activations,
                      const std::vector<float>& gradient) override {
    PS_RETURN_IF_ERROR(Allocate());
    Scatter(examples, activations, &variables_);
    Scatter(examples, gradient, &multipliers_);
    return absl::OkStatus();
  }

  void Save(StateWriter* state) const override {
    state->PutInt(variables_.empty() ? 0 : 1);
    if (variables_.empty()) return;
    state->PutFloats(variables_);
    state->PutFloats(multipliers_);
  }

  absl::Status Load(StateReader* state) override {
    PS_ASSIGN_OR_RETURN(const int64_t allocated, state->GetInt());
    if (allocated == 0) return absl::OkStatus();
    PS_RETURN_IF_ERROR(Allocate());
    PS_RETURN_IF_ERROR(state->GetFloats(absl::MakeSpan(variables_)));
    return state->GetFloats(absl::MakeSpan(multipliers_));
  }

 private:
  absl::Status Allocate() {
    if (!variables_.empty()) return absl::OkStatus();
    try {
      variables_.resize(num_examples_ * row_size_);
      if (options_.multipliers) multipliers_.resize(variables_.size());
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no memory for ", StoredBytes(options_, num_examples_),
                       " bytes of auxiliary variables"));
    }
    return absl::OkStatus();
  }

  // Gathers rows. A store of unused multipliers stays empty.
  void Gather(const Examples& examples, const std::vector<float>& from,
              std::vector<float>* to) const {
    if (from.empty()) return;
    to->resize(examples.numbers.size() * row_size_);
    float* row = to->data();
    for (const int64_t number : examples.numbers) {
      row = std::copy_n(from.data() + number * row_size_, row_size_, row);
    }
  }

  void Scatter(const Examples& examples, const std::vector<float>& from,
               std::vector<float>* to) const {
    if (to->empty()) return;
    const float* row = from.data();
    for (const int64_t number : examples.numbers) {
      std::copy_n(row, row_size_, to->data() + number * row_size_);
      row += row_size_;
    }
  }

  const CutOptions options_;
  const int64_t row_size_;
  const int64_t num_examples_;
  std::vector<float> variables_;    // [examples, row_size], or empty.
  std::vector<float> multipliers_;  // [num_examples, row_size], or empty.
};

}  // namespace

std::unique_ptr<CutVariables> NewStoredVariables(const CutOptions& options,
                                                 int64_t num_examples) {
  return std::make_unique<StoredVariables>(options, num_examples);
}

int64_t StoredBytes(const CutOptions& options, int64_t num_examples) {
  return num_examples * options.row_size() * (options.multipliers ? 2 : 1) *
         static_cast<int64_t>(sizeof(float));
}

}  // namespace ps

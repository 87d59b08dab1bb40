#include "models/onnx/constant_folding.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/onnx/attributes.h"

namespace ps {
namespace {

using Integers = std::vector<int64_t>;

// The most inputs of a Concat, outputs of a Split, and elements of an input
// that is a list, as of indices or dimensions. Longer ones would take long if
// many nodes had them.
constexpr size_t kMaxPieces = 1024;
// Steps this large go beyond the ends of every tensor.
constexpr int64_t kMaxStep = int64_t{1} << 31;
constexpr int64_t kFar = int64_t{1} << 40;

// Elements to copy: `shape` of them, with a begin and strides in the source
// tensor, and in the target.
struct Piece {
  const OnnxTensor* from;
  Integers shape;
  int64_t from_begin = 0;
  Integers from_strides;
  int64_t to_begin = 0;
  Integers to_strides;
};

// A tensor that is assembled from pieces.
struct Assembly {
  Integers shape;
  std::vector<Piece> pieces;
};
using Assemblies = std::optional<std::vector<Assembly>>;

// Returns the strides of contiguous elements. CheckedSize(shape) must not be
// negative.
Integers Strides(const Integers& shape) {
  Integers strides(shape.size(), 1);
  for (size_t i = shape.size(); i > 1; --i) {
    strides[i - 2] = strides[i - 1] * std::max<int64_t>(shape[i - 1], 1);
  }
  return strides;
}

template <typename T>
void Copy(const Piece& piece, const std::vector<T>& from, std::vector<T>* to) {
  const int64_t size = CheckedSize(piece.shape);
  Integers at(piece.shape.size());
  int64_t source = piece.from_begin, target = piece.to_begin;
  for (int64_t i = 0; i < size; ++i) {
    (*to)[target] = from[source];
    for (size_t d = at.size(); d-- > 0;) {
      source += piece.from_strides[d];
      target += piece.to_strides[d];
      if (++at[d] < piece.shape[d]) break;
      source -= piece.from_strides[d] * piece.shape[d];
      target -= piece.to_strides[d] * piece.shape[d];
      at[d] = 0;
    }
  }
}

// Returns one output that views these elements of `from`.
Assemblies View(const OnnxTensor* from, Integers shape, Integers strides,
                int64_t begin = 0) {
  if (CheckedSize(shape) < 0) return std::nullopt;
  Piece piece{from, shape, begin, std::move(strides), 0, Strides(shape)};
  return std::vector<Assembly>{{std::move(shape), {std::move(piece)}}};
}

// Returns one output of the same elements with another shape.
Assemblies Reshaped(const OnnxTensor* from, Integers shape) {
  const int64_t size = CheckedSize(shape);
  if (size < 0 || size != CheckedSize(from->shape)) return std::nullopt;
  Integers strides = Strides(shape);
  return View(from, std::move(shape), std::move(strides));
}

// Resolves an axis, which counts from the end if negative; -1 if there is none.
int64_t Axis(int64_t axis, size_t rank) {
  const int64_t n = static_cast<int64_t>(rank);
  return axis >= -n && axis < n ? (axis + n) % n : -1;
}

// Whether a tensor's values are known.
bool HasValues(const OnnxTensor& tensor) {
  const int64_t size =
      static_cast<int64_t>(tensor.floats.size() + tensor.integers.size());
  return size == CheckedSize(tensor.shape);
}

class Folding {
 public:
  Folding(const onnx::NodeProto& node,
          absl::Span<const OnnxTensor* const> inputs)
      : node_(node), inputs_(inputs) {}

  // Returns the pieces of each output.
  Assemblies Plan() {
    const std::string& op = node_.op_type();
    if (op == "ConstantOfShape") return PlanConstantOfShape();
    if (op == "Shape") return PlanShape();
    if (op == "Concat") return PlanConcat();
    if (op == "Cast") return PlanCast();
    if (op == "Reshape") return PlanReshape();
    if (op == "Squeeze") return PlanSqueeze();
    if (op == "Unsqueeze") return PlanUnsqueeze();
    if (op == "Transpose") return PlanTranspose();
    if (op == "Slice") return PlanSlice();
    if (op == "Expand") return PlanExpand();
    if (op == "Gather") return PlanGather();
    if (op == "Split") return PlanSplit();
    return std::nullopt;
  }

 private:
  // Returns the integers of an input or, in old opsets, of an attribute.
  Integers List(size_t input, const char* attribute) const {
    if (input < inputs_.size()) {
      return inputs_[input] == nullptr ? Integers() : inputs_[input]->integers;
    }
    return IntegersAttribute(node_, attribute);
  }

  Assemblies PlanConstantOfShape() {
    made_.floats = {0};
    if (const auto* const value = FindAttribute(node_, "value")) {
      auto fill = TensorReader(nullptr).Read(value->t());
      if (!fill.ok() || CheckedSize(fill->shape) != 1) return std::nullopt;
      made_ = *std::move(fill);
    }
    if (!HasValues(made_)) return std::nullopt;
    const Integers& shape = inputs_[0]->integers;
    return View(&made_, shape, Integers(shape.size()));
  }

  Assemblies PlanShape() {
    const Integers& shape = inputs_[0]->shape;
    const int64_t rank = static_cast<int64_t>(shape.size());
    const auto bound = [&](const char* name, int64_t otherwise) {
      const int64_t given = IntegerAttribute(node_, name, otherwise);
      return std::clamp<int64_t>(
          given < 0 ? std::max(given, -rank) + rank : given, 0, rank);
    };
    const int64_t start = bound("start", 0), end = bound("end", rank);
    if (start < end) {
      made_.integers.assign(shape.begin() + start, shape.begin() + end);
    }
    made_.shape = {static_cast<int64_t>(made_.integers.size())};
    return Reshaped(&made_, made_.shape);
  }

  Assemblies PlanCast() {
    const OnnxTensor& x = *inputs_[0];
    const int64_t to = IntegerAttribute(node_, "to", 0);
    made_.shape = x.shape;
    if (to == onnx::TensorProto::FLOAT) {
      made_.floats.assign(x.integers.begin(), x.integers.end());
      return Reshaped(x.integers.empty() ? &x : &made_, x.shape);
    }
    if (to != onnx::TensorProto::INT64 || x.floats.size() > kMaxPieces) {
      return std::nullopt;
    }
    for (const float value : x.floats) {
      if (!(value > -0x1p62f && value < 0x1p62f)) return std::nullopt;
      made_.integers.push_back(static_cast<int64_t>(value));
    }
    return Reshaped(x.floats.empty() ? &x : &made_, x.shape);
  }

  Assemblies PlanReshape() {
    const OnnxTensor& x = *inputs_[0];
    Integers shape = List(1, "shape");
    const bool zeros = IntegerAttribute(node_, "allowzero", 0) != 0;
    int64_t* unknown = nullptr;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == 0 && !zeros) {
        if (i >= x.shape.size()) return std::nullopt;
        shape[i] = x.shape[i];
      } else if (shape[i] == -1) {
        if (unknown != nullptr) return std::nullopt;
        unknown = &shape[i];
        shape[i] = 1;
      }
    }
    if (unknown != nullptr) {
      const int64_t others = CheckedSize(shape);
      if (others <= 0) return std::nullopt;
      *unknown = CheckedSize(x.shape) / others;
    }
    return Reshaped(&x, std::move(shape));
  }

  Assemblies PlanSqueeze() {
    const OnnxTensor& x = *inputs_[0];
    const Integers axes = List(1, "axes");
    std::vector<bool> gone(x.shape.size());
    for (size_t i = 0; axes.empty() && i < gone.size(); ++i) {
      gone[i] = x.shape[i] == 1;
    }
    for (const int64_t given : axes) {
      const int64_t axis = Axis(given, gone.size());
      if (axis < 0 || x.shape[axis] != 1) return std::nullopt;
      gone[axis] = true;
    }
    Integers shape;
    for (size_t i = 0; i < gone.size(); ++i) {
      if (!gone[i]) shape.push_back(x.shape[i]);
    }
    return Reshaped(&x, std::move(shape));
  }

  Assemblies PlanUnsqueeze() {
    const OnnxTensor& x = *inputs_[0];
    const Integers axes = List(1, "axes");
    std::vector<bool> added(x.shape.size() + axes.size());
    for (const int64_t given : axes) {
      const int64_t axis = Axis(given, added.size());
      if (axis < 0 || added[axis]) return std::nullopt;
      added[axis] = true;
    }
    Integers shape;
    auto extent = x.shape.begin();
    for (const bool is_added : added) {
      shape.push_back(is_added ? 1 : *extent++);
    }
    return Reshaped(&x, std::move(shape));
  }

  Assemblies PlanTranspose() {
    const OnnxTensor& x = *inputs_[0];
    const size_t rank = x.shape.size();
    Integers in_order(rank);
    std::iota(in_order.begin(), in_order.end(), 0);
    Integers perm = IntegersAttribute(node_, "perm");
    if (perm.empty()) perm.assign(in_order.rbegin(), in_order.rend());
    if (!std::is_permutation(in_order.begin(), in_order.end(), perm.begin(),
                             perm.end())) {
      return std::nullopt;
    }
    const Integers strides = Strides(x.shape);
    Integers shape(rank), permuted(rank);
    for (size_t i = 0; i < rank; ++i) {
      shape[i] = x.shape[perm[i]];
      permuted[i] = strides[perm[i]];
    }
    return View(&x, std::move(shape), std::move(permuted));
  }

  Assemblies PlanSlice() {
    const OnnxTensor& x = *inputs_[0];
    const Integers starts = List(1, "starts"), ends = List(2, "ends");
    Integers axes = List(3, "axes"), steps = List(4, "steps");
    if (axes.empty()) {
      axes.resize(starts.size());
      std::iota(axes.begin(), axes.end(), 0);
    }
    if (steps.empty()) steps.resize(starts.size(), 1);
    if (ends.size() != starts.size() || axes.size() != starts.size() ||
        steps.size() != starts.size()) {
      return std::nullopt;
    }
    Integers shape = x.shape, strides = Strides(x.shape);
    const Integers whole = strides;
    int64_t begin = 0;
    std::vector<bool> cut(shape.size());
    for (size_t i = 0; i < starts.size(); ++i) {
      const int64_t axis = Axis(axes[i], shape.size());
      if (axis < 0 || cut[axis] || steps[i] == 0) return std::nullopt;
      cut[axis] = true;
      const int64_t extent = shape[axis];
      const int64_t step = std::clamp(steps[i], -kMaxStep, kMaxStep);
      const auto bound = [&](int64_t at) {
        if (at < 0) at = std::max(at, -kFar) + extent;
        return step > 0 ? std::clamp<int64_t>(at, 0, extent)
                        : std::clamp<int64_t>(at, -1, extent - 1);
      };
      const int64_t start = bound(starts[i]), end = bound(ends[i]);
      shape[axis] = step > 0
                        ? std::max<int64_t>(end - start + step - 1, 0) / step
                        : std::max<int64_t>(start - end - step - 1, 0) / -step;
      strides[axis] = whole[axis] * step;
      if (shape[axis] > 0) begin += start * whole[axis];
    }
    return View(&x, std::move(shape), std::move(strides), begin);
  }

  Assemblies PlanExpand() {
    const OnnxTensor& x = *inputs_[0];
    if (inputs_.size() < 2 || inputs_[1] == nullptr) return std::nullopt;
    Integers shape = inputs_[1]->integers;
    if (shape.size() < x.shape.size()) {
      shape.insert(shape.begin(), x.shape.size() - shape.size(), 1);
    }
    const size_t added = shape.size() - x.shape.size();
    const Integers own = Strides(x.shape);
    Integers strides(shape.size());
    for (size_t i = 0; i < x.shape.size(); ++i) {
      int64_t& extent = shape[added + i];
      if (x.shape[i] == 1) continue;
      if (extent != 1 && extent != x.shape[i]) return std::nullopt;
      extent = x.shape[i];
      strides[added + i] = own[i];
    }
    return View(&x, std::move(shape), std::move(strides));
  }

  Assemblies PlanConcat() {
    const size_t rank = inputs_[0]->shape.size();
    const int64_t axis = Axis(IntegerAttribute(node_, "axis", 0), rank);
    if (axis < 0 || inputs_.size() > kMaxPieces) return std::nullopt;
    Assembly whole;
    whole.shape = inputs_[0]->shape;
    whole.shape[axis] = 0;
    for (const OnnxTensor* const x : inputs_) {
      Integers same = x == nullptr ? Integers() : x->shape;
      if (same.size() != rank) return std::nullopt;
      same[axis] = whole.shape[axis];
      if (same != whole.shape) return std::nullopt;
      whole.shape[axis] += x->shape[axis];
      if (CheckedSize(whole.shape) < 0) return std::nullopt;
    }
    const Integers strides = Strides(whole.shape);
    int64_t begin = 0;
    for (const OnnxTensor* const x : inputs_) {
      whole.pieces.push_back(
          {x, x->shape, 0, Strides(x->shape), begin, strides});
      begin += x->shape[axis] * strides[axis];
    }
    return std::vector<Assembly>{std::move(whole)};
  }

  // Gathers rows of x, or along its axis.
  Assemblies PlanGather() {
    const OnnxTensor& x = *inputs_[0];
    const int64_t axis =
        Axis(IntegerAttribute(node_, "axis", 0), x.shape.size());
    if (inputs_.size() < 2 || inputs_[1] == nullptr || axis < 0) {
      return std::nullopt;
    }
    const OnnxTensor& indices = *inputs_[1];
    const int64_t count = static_cast<int64_t>(indices.integers.size());
    if (CheckedSize(indices.shape) != count) return std::nullopt;
    // The indices are flattened to one axis.
    Integers row = x.shape, rows = x.shape;
    row[axis] = 1;
    rows[axis] = count;
    const Integers strides = Strides(x.shape);
    if (CheckedSize(rows) < 0) return std::nullopt;
    Assembly whole;
    const Integers to_strides = Strides(rows);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t index = indices.integers[i];
      const int64_t at = index < 0 ? index + x.shape[axis] : index;
      if (at < 0 || at >= x.shape[axis]) return std::nullopt;
      whole.pieces.push_back({&x, row, at * strides[axis], strides,
                              i * to_strides[axis], to_strides});
    }
    whole.shape = x.shape;
    whole.shape.erase(whole.shape.begin() + axis);
    whole.shape.insert(whole.shape.begin() + axis, indices.shape.begin(),
                       indices.shape.end());
    if (CheckedSize(whole.shape) < 0) return std::nullopt;
    return std::vector<Assembly>{std::move(whole)};
  }

  Assemblies PlanSplit() {
    const OnnxTensor& x = *inputs_[0];
    const int64_t axis =
        Axis(IntegerAttribute(node_, "axis", 0), x.shape.size());
    const int64_t parts = node_.output_size();
    if (axis < 0 || node_.output_size() > static_cast<int>(kMaxPieces)) {
      return std::nullopt;
    }
    const int64_t extent = x.shape[axis];
    Integers sizes = List(1, "split");
    // The parts are equal; the last may be smaller.
    if (sizes.empty()) {
      const int64_t part = (extent + parts - 1) / parts;
      for (int64_t i = 0; i < parts; ++i) {
        sizes.push_back(std::clamp<int64_t>(extent - i * part, 0, part));
      }
    }
    if (static_cast<int64_t>(sizes.size()) != parts) return std::nullopt;
    const Integers strides = Strides(x.shape);
    std::vector<Assembly> outputs;
    int64_t begin = 0;
    for (const int64_t size : sizes) {
      if (size < 0 || size > extent - begin) return std::nullopt;
      Integers shape = x.shape;
      shape[axis] = size;
      outputs.push_back(
          {shape,
           {{&x, shape, begin * strides[axis], strides, 0, Strides(shape)}}});
      begin += size;
    }
    if (begin != extent) return std::nullopt;
    return outputs;
  }

  const onnx::NodeProto& node_;
  const absl::Span<const OnnxTensor* const> inputs_;
  OnnxTensor made_;  // The source of an output that is computed and no input.
};

}  // namespace

std::optional<std::vector<OnnxTensor>> FoldNode(
    const onnx::NodeProto& node, absl::Span<const OnnxTensor* const> inputs,
    int64_t most, bool* too_large) {
  if (inputs.empty() || inputs[0] == nullptr || node.output_size() == 0) {
    return std::nullopt;
  }
  const bool has_lists = node.op_type() != "Concat";
  const bool is_list = node.op_type() == "ConstantOfShape";
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr) continue;
    const bool too_long = ((i > 0 && has_lists) || is_list) &&
                          inputs[i]->integers.size() > kMaxPieces;
    if (too_long || !HasValues(*inputs[i])) return std::nullopt;
  }
  // A Cast computes its values before their number is known to be small enough.
  if (CheckedSize(inputs[0]->shape) > most && node.op_type() == "Cast") {
    *too_large = true;
    return std::nullopt;
  }
  Folding folding(node, inputs);
  const Assemblies plan = folding.Plan();
  if (!plan.has_value() ||
      plan->size() != static_cast<size_t>(node.output_size())) {
    return std::nullopt;
  }
  for (const Assembly& output : *plan) {
    most -= CheckedSize(output.shape);
    if (most < 0) {
      *too_large = true;
      return std::nullopt;
    }
  }
  std::vector<OnnxTensor> outputs;
  for (const Assembly& output : *plan) {
    OnnxTensor& tensor = outputs.emplace_back();
    tensor.shape = output.shape;
    const size_t size = static_cast<size_t>(CheckedSize(output.shape));
    const auto has = [&output](auto values) {
      return std::any_of(output.pieces.begin(), output.pieces.end(),
                         [values](const Piece& piece) {
                           return !(piece.from->*values).empty();
                         });
    };
    const bool floats = has(&OnnxTensor::floats);
    // A Concat of both types is not computed.
    if (floats && has(&OnnxTensor::integers)) return std::nullopt;
    if (floats) {
      tensor.floats.resize(size);
    } else {
      tensor.integers.resize(size);
    }
    for (const Piece& piece : output.pieces) {
      if (floats) {
        Copy(piece, piece.from->floats, &tensor.floats);
      } else {
        Copy(piece, piece.from->integers, &tensor.integers);
      }
    }
  }
  return outputs;
}

}  // namespace ps

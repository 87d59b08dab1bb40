// Chooses the codes of a payload, and so its size, from the lengths that the
// device has measured: as EncodeElements does on the host.
#ifndef COMPRESSORS_CUDA_ENCODING_PACKING_CHOICE_H_
#define COMPRESSORS_CUDA_ENCODING_PACKING_CHOICE_H_

#include <cstdint>

#include "compressors/cuda/encoding/level_values.h"
#include "compressors/cuda/encoding/part_plan.h"
#include "compressors/cuda/encoding/value_packing.h"
#include "compressors/index_codes/index_sizes.h"
#include "compressors/payload/bits.h"
#include "compressors/value_codes/level_layouts.h"
#include "tensor/cuda/sparse/cores/host_device.h"

namespace ps {

struct IndexPacking {
  bool smallest = false;               // "auto";
  IndexCode code = IndexCode::kRaw32;  // otherwise this code.

  // Whether a plan's varint_bytes and rice_bits are needed.
  bool needs_gaps() const {
    return smallest || code == IndexCode::kDeltaVarint ||
           code == IndexCode::kRice;
  }
};

// Returns -1 if the code cannot hold the indices.
PS_HOST_DEVICE inline int64_t IndexBytes(IndexCode code, const PartPlan& part) {
  switch (code) {
    case IndexCode::kDense:
      return part.count == part.dense_size ? 0 : -1;
    case IndexCode::kRaw32:
      return part.count * static_cast<int64_t>(sizeof(uint32_t));
    case IndexCode::kDeltaVarint:
      return part.varint_bytes;
    case IndexCode::kBitmap:
      return BytesOfBits(part.dense_size);
    case IndexCode::kRice:
      return kRiceParameterBytes + BytesOfBits(part.rice_bits);
    case IndexCode::kEliasFano:
      return EliasFanoLayout(part.count, part.dense_size).total_bytes();
    case IndexCode::kAdaComp:
    case IndexCode::kChunks:
    case IndexCode::kSharedPositions:
      break;
  }
  return -1;
}

// Sets index_code and index_bytes of a plan with elements.
PS_HOST_DEVICE inline void ChooseIndexCode(const IndexPacking& packing,
                                           PartPlan* part) {
  if (!packing.smallest) {
    part->index_code = packing.code;
    part->index_bytes = IndexBytes(packing.code, *part);
    return;
  }
  part->index_bytes = -1;
  // In order of wire numbers, so that the first of equally small codes is
  // taken.
  const IndexCode kCodes[] = {IndexCode::kDense,       IndexCode::kRaw32,
                              IndexCode::kDeltaVarint, IndexCode::kBitmap,
                              IndexCode::kRice,        IndexCode::kEliasFano};
  for (const IndexCode code : kCodes) {
    const int64_t bytes = IndexBytes(code, *part);
    if (bytes < 0 || (part->index_bytes >= 0 && bytes >= part->index_bytes)) {
      continue;
    }
    part->index_code = code;
    part->index_bytes = bytes;
  }
}

// Sets value_bytes and layout of a plan with elements.
PS_HOST_DEVICE inline void ChooseValueBytes(const EncodeBatch& batch,
                                            const ValuePacking& packing,
                                            PartPlan* part) {
  constexpr int64_t kWordBytes = sizeof(uint32_t);
  if (packing.elias) {
    part->layout =
        SmallerLayout(packing.omega, part->sparse_bits, part->dense_bits);
    part->value_bytes = WordsBeforeLevels(packing, part->count) * kWordBytes +
                        BytesOfBits(IsSparse(part->layout) ? part->sparse_bits
                                                           : part->dense_bits);
    return;
  }
  VisitPacker(packing, [&](auto packer) {
    using Values = typename decltype(packer)::type;
    const Values code(packing, batch, *part);
    const int64_t num_codes =
        (part->count + Values::kPerWord - 1) / Values::kPerWord;
    part->value_bytes =
        code.header_words() * kWordBytes + BytesOfBits(num_codes * code.bits());
  });
}

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_PACKING_CHOICE_H_

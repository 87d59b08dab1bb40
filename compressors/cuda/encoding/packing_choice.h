// How a device packs, and what the host makes of what it has measured.
#ifndef COMPRESSORS_CUDA_ENCODING_PACKING_CHOICE_H_
#define COMPRESSORS_CUDA_ENCODING_PACKING_CHOICE_H_

#include "compressors/cuda/encoding/part_plan.h"
#include "compressors/cuda/encoding/value_packing.h"
#include "compressors/payload/payload.h"

namespace ps {

// `codes`, here and below, are ones that CheckPayloadCodes accepts.
ValuePacking ValuePackingOf(const PayloadCodes& codes);

// Sets value_bytes and layout of a plan as EncodeElements chooses; those of no
// elements stay as they are.
void ChooseValueBytes(const ValuePacking& packing, PartPlan* part);

struct IndexPacking {
  bool smallest = false;               // "auto",
  IndexCode code = IndexCode::kRaw32;  // else this one.

  // Whether the plan's varint_bytes and rice_bits are needed.
  bool needs_gaps() const {
    return smallest || code == IndexCode::kDeltaVarint ||
           code == IndexCode::kRice;
  }
};

IndexPacking IndexPackingOf(const PayloadCodes& codes);

// Sets index_code and index_bytes of a plan as EncodeElements chooses; those of
// no elements stay as they are.
void ChooseIndexCode(const IndexPacking& packing, PartPlan* part);

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_PACKING_CHOICE_H_

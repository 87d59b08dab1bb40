// Which codes a device packs, and how.
#ifndef COMPRESSORS_CUDA_ENCODING_PACKING_CHOICE_H_
#define COMPRESSORS_CUDA_ENCODING_PACKING_CHOICE_H_

#include <optional>

#include "compressors/cuda/encoding/part_plan.h"
#include "compressors/cuda/encoding/value_packing.h"
#include "compressors/payload.h"

namespace ps {

// No value if the device does not know the code: "alq", whose levels are fitted
// on the host, and level codes in Elias's layouts.
std::optional<ValuePacking> ValuePackingOf(const PayloadCodes& codes);

// Bytes of `count` values, at least 1, which none of these codes makes depend
// on the values.
int64_t ValueBytes(const ValuePacking& packing, int64_t count);

struct IndexPacking {
  bool smallest = false;               // "auto",
  IndexCode code = IndexCode::kRaw32;  // else this one.

  // Whether the plan's varint_bytes and rice_bits are needed.
  bool needs_gaps() const {
    return smallest || code == IndexCode::kDeltaVarint ||
           code == IndexCode::kRice;
  }
};

// `codes` are ones that CheckPayloadCodes accepts.
std::optional<IndexPacking> IndexPackingOf(const PayloadCodes& codes);

// Sets index_code and index_bytes of a plan as EncodeElements chooses; those of
// no elements stay as they are.
void ChooseIndexCode(const IndexPacking& packing, PartPlan* part);

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_PACKING_CHOICE_H_

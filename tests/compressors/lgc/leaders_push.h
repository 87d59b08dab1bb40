// A push with a code, for tests of its readers.
#ifndef TESTS_COMPRESSORS_LGC_LEADERS_PUSH_H_
#define TESTS_COMPRESSORS_LGC_LEADERS_PUSH_H_

#include <cstdint>
#include <vector>

#include "compressors/lgc/autoencoder.h"
#include "compressors/lgc/message.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/shared_positions.h"
#include "tests/compressors/lgc/lgc_cluster.h"

namespace ps {

// A leader's push that the part at the servers takes, in its parts.
struct LeadersPush {
  std::vector<uint32_t> indices;
  LgcRemark remark;
  LgcValues values;

  PayloadBuffer Payload() const {
    const PayloadBuffer plain =
        EncodeSparse("delta_varint", indices,
                     std::vector<float>(indices.size()), 0, kSize)
            .value();
    return EncodeCoded(plain, Write(remark),
                       Write(values, NumValues(remark.ranges)));
  }
};

inline LeadersPush GoodPush() {
  LeadersPush push;
  for (uint32_t i = 0; i < 300; ++i) push.indices.push_back(3 * i);
  push.remark.coded = true;
  push.remark.version = 1;
  push.remark.scale = 0.5f;
  push.remark.ranges = {{10, 150}, {150, 290}};
  push.remark.signs.assign(280, true);
  push.values.plain.assign(20, 1.0f);
  push.values.code.assign(CodeLength(280), 0.1f);
  push.values.places = {0, 5, 279};
  push.values.innovation = {2, -3, 4};
  return push;
}

}  // namespace ps

#endif  // TESTS_COMPRESSORS_LGC_LEADERS_PUSH_H_

// Describes one update of a rule that treats each element separately, as a
// value that can be handed to other threads and to devices.
#ifndef OPTIMIZERS_ELEMENT_RULE_H_
#define OPTIMIZERS_ELEMENT_RULE_H_

#include <cstdint>
#include <variant>

#include "optimizers/element_step.h"
#include "optimizers/elements.h"

namespace ps {

using ElementRule =
    std::variant<SgdElement, MomentumElement<false>, MomentumElement<true>,
                 AdagradElement, AdamElement>;

// Steps n elements in the host's memory. Thread-safe for different arrays.
void StepElements(const ElementRule& rule, const StepArrays& arrays, int64_t n);

}  // namespace ps

#endif  // OPTIMIZERS_ELEMENT_RULE_H_

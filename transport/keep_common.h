// Intersects sets.
#ifndef TRANSPORT_KEEP_COMMON_H_
#define TRANSPORT_KEEP_COMMON_H_

#include <iterator>
#include <set>

namespace ps {

// Removes the elements of `set` that `others`, any container, lacks.
template <typename T, typename Others>
void KeepCommon(const Others& others, std::set<T>* set) {
  const std::set<T> theirs(others.begin(), others.end());
  for (auto it = set->begin(); it != set->end();) {
    it = theirs.count(*it) > 0 ? std::next(it) : set->erase(it);
  }
}

}  // namespace ps

#endif  // TRANSPORT_KEEP_COMMON_H_

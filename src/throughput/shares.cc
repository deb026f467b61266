// What is granted where. The formats: shares_format.cc.
#include "throughput/shares.h"

#include <algorithm>

namespace stator::throughput {
namespace {

bool Ends(const KeyRange& a, const KeyBound& from) { return !a.to_end && a.to <= from; }

// Calls visit(parts) for each piece of `range`, with the granted parts of the piece, or the base if
// the grant does not list it.
template <typename Visit>
void ForEachPiece(const Grant& grant, uint32_t tablet, const KeyRange& range, const Visit& visit) {
  const Parts base{grant.base, grant.base};
  const auto found = grant.resources.find(tablet);
  if (found == grant.resources.end()) return visit(base);
  KeyBound at = range.from;
  bool covered = false;  // to the end
  for (const Grant::RangeParts& piece : found->second.ranges) {
    if (!Overlap(piece.range, range)) continue;
    if (at < piece.range.from) visit(base);
    visit(piece.parts);
    at = std::max(at, piece.range.to);
    covered = piece.range.to_end || (!range.to_end && range.to <= piece.range.to);
  }
  if (!covered) visit(base);
}

}  // namespace

bool Overlap(const KeyRange& a, const KeyRange& b) { return !Ends(a, b.from) && !Ends(b, a.from); }

Parts Grant::Whole(uint32_t tablet) const {
  const auto found = resources.find(tablet);
  if (found == resources.end() || !found->second.whole) return {base, base};
  return *found->second.whole;
}

Parts Grant::Most(uint32_t tablet, const KeyRange& range) const {
  Parts most{};
  ForEachPiece(*this, tablet, range, [&most](const Parts& parts) {
    for (size_t a = 0; a < kAccesses; ++a) most[a] = std::max(most[a], parts[a]);
  });
  return most;
}

Parts Grant::Least(uint32_t tablet, const KeyRange& range) const {
  Parts least{1, 1};
  ForEachPiece(*this, tablet, range, [&least](const Parts& parts) {
    for (size_t a = 0; a < kAccesses; ++a) least[a] = std::min(least[a], parts[a]);
  });
  return least;
}

}  // namespace stator::throughput

#include "fleet/members.h"

#include <algorithm>

namespace stator::fleet {

void Members::Observe(const std::vector<Entry>& entries, int64_t now_micros) {
  const int64_t counts = std::clamp<int64_t>(now_micros - observed_micros_, 0, kMostPerRead);
  observed_micros_ = now_micros;
  std::map<std::string, Member> next;
  for (const Entry& entry : entries) {
    Member member{entry.id, entry.beat, entry.stamp};
    const auto before = members_.find(entry.id);
    if (before != members_.end() && before->second.beat.sequence == entry.beat.sequence)
      member.silent_micros = before->second.silent_micros + counts;
    member.alive = member.silent_micros < kSilenceMicros;
    next.emplace(entry.id, std::move(member));
  }
  members_ = std::move(next);
}

bool Members::IsAlive(const std::string& id) const {
  const auto found = members_.find(id);
  return found != members_.end() && found->second.alive;
}

std::vector<std::string> Members::Alive() const {
  std::vector<std::string> alive;
  for (const auto& [id, member] : members_) {
    if (member.alive) alive.push_back(id);
  }
  return alive;
}

}  // namespace stator::fleet

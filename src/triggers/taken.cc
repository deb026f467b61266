#include "triggers/taken.h"

#include <string_view>

namespace stator::triggers {

void TakenChanges::Begin(const Batch& batch) {
  std::erase_if(taken_, [&](const stream::Position& position) {
    return position < batch.changes.front()->position;
  });
}

size_t TakenChanges::FirstMissing(const Batch& batch) const {
  size_t first = 0;
  while (first < batch.changes.size() && taken_.contains(batch.changes[first]->position)) ++first;
  return first;
}

std::vector<size_t> TakenChanges::Missing(const Batch& batch, size_t end, size_t most,
                                          bool in_order) const {
  std::vector<size_t> missing;
  std::set<std::string_view> keys;
  for (size_t i = 0; i < end && missing.size() < most; ++i) {
    if (taken_.contains(batch.changes[i]->position)) continue;
    if (!in_order || keys.insert(batch.changes[i]->key()).second) missing.push_back(i);
  }
  return missing;
}

void TakenChanges::Note(const Batch& batch, const std::vector<size_t>& sent,
                        const std::vector<bool>& taken) {
  std::set<std::string_view> behind;  // keys of items whose records must be sent again
  size_t next = 0;
  for (size_t i = 0; i < batch.changes.size(); ++i) {
    const Change& change = *batch.changes[i];
    const std::string_view key = change.key();
    const bool was_sent = next < sent.size() && sent[next] == i;
    if (was_sent && !taken[next]) behind.insert(key);
    if (was_sent) ++next;
    if (behind.contains(key)) {
      taken_.erase(change.position);
    } else if (was_sent) {
      taken_.insert(change.position);
    }
  }
}

}  // namespace stator::triggers

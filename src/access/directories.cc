#include "access/directories.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stator::access {
namespace {

// Keys that are changed before requests get their turn.
constexpr size_t kKeysAtATime = 64;

std::vector<std::string_view> IdsIn(const std::vector<Directory::Key>& keys) {
  std::vector<std::string_view> ids;
  ids.reserve(keys.size());
  for (const Directory::Key& key : keys) ids.push_back(key.id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

std::shared_ptr<const Directory> Directories::Of(std::string_view account) const {
  const MutexLock lock(mutex_);
  const auto found = accounts_.find(account);
  return found == accounts_.end() ? nullptr : found->second.directory;
}

std::vector<std::shared_ptr<const Directory>> Directories::All() const {
  std::vector<std::shared_ptr<const Directory>> all;
  const MutexLock lock(mutex_);
  all.reserve(accounts_.size());
  for (const auto& [account, slot] : accounts_) {
    if (slot.directory != nullptr) all.push_back(slot.directory);
  }
  return all;
}

void Directories::Replace(const std::string& account, std::shared_ptr<const Directory> next) {
  std::shared_ptr<const Directory> last;
  {
    const MutexLock lock(mutex_);
    if (next == nullptr && !accounts_.contains(account)) return;
    Slot& slot = accounts_[account];
    last = std::exchange(slot.directory, next);
    ++slot.generation;
  }
  const std::vector<Directory::Key> none;
  const std::vector<Directory::Key>& keys = next == nullptr ? none : next->keys();
  const std::vector<std::string_view> before = IdsIn(last == nullptr ? none : last->keys());
  const std::vector<std::string_view> after = IdsIn(keys);
  std::vector<std::string_view> gone;
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                      std::back_inserter(gone));
  for (size_t begin = 0; begin < gone.size(); begin += kKeysAtATime) {
    const MutexLock lock(mutex_);
    for (size_t i = begin; i < std::min(begin + kKeysAtATime, gone.size()); ++i) {
      const auto found = keys_.find(gone[i]);
      if (found != keys_.end() && found->second.credential->caller->account == account)
        keys_.erase(found);
    }
  }
  for (size_t begin = 0; begin < keys.size(); begin += kKeysAtATime) {
    const MutexLock lock(mutex_);
    for (size_t i = begin; i < std::min(begin + kKeysAtATime, keys.size()); ++i) {
      Key now{keys[i].active, keys[i].credential};
      const auto found = keys_.find(keys[i].id);
      if (found == keys_.end()) {
        keys_.emplace(keys[i].id, std::move(now));
      } else {
        found->second = std::move(now);
      }
    }
  }
  // The last reference to the former directory goes here, outside the lock.
}

KeyLookup Directories::Find(std::string_view key_id, std::string_view token) const {
  if (key_id.starts_with("ASIA")) return FindSession(key_id, token);
  const TokenState fits = token.empty() ? TokenState::kFits : TokenState::kInvalid;
  const MutexLock lock(mutex_);
  const auto found = keys_.find(key_id);
  if (found == keys_.end()) return {};
  return {found->second.active ? KeyState::kActive : KeyState::kInactive, fits,
          found->second.credential};
}

KeyLookup Directories::FindSession(std::string_view key_id, std::string_view token) const {
  const KeyLookup invalid{KeyState::kUnknown, TokenState::kInvalid, nullptr};
  if (token.empty()) return invalid;
  OpenedToken opened;
  {
    const MutexLock lock(mutex_);
    if (const auto young = young_.find(token); young != young_.end()) {
      opened = young->second;
    } else if (const auto old = old_.find(token); old != old_.end()) {
      opened = old->second;
    }
    // The account has changed, and perhaps the identity of the session.
    if (opened.slot != nullptr && opened.slot->generation != opened.generation)
      opened.credential = nullptr;
  }
  if (opened.credential == nullptr) {
    Result<Session> session = OpenSession(token, *keyring_);
    if (!session.ok()) return invalid;
    std::shared_ptr<const Directory> directory;
    {
      const MutexLock lock(mutex_);
      const auto found = accounts_.find(session->account);
      if (found == accounts_.end()) return invalid;
      directory = found->second.directory;
      opened.slot = &found->second;
      opened.generation = found->second.generation;
    }
    if (directory == nullptr) return invalid;
    std::shared_ptr<const Caller> caller = directory->CallerOf(*session);
    if (caller == nullptr) return invalid;
    opened.key_id = session->key_id;
    opened.expires_micros = session->expires_micros;
    opened.credential = MakeCredential(std::move(session->secret), std::move(caller));
    const MutexLock lock(mutex_);
    if (young_.size() >= kMaxOpenedTokens / 2) {
      old_ = std::move(young_);
      young_.clear();
    }
    young_.insert_or_assign(std::string(token), opened);
  }
  if (opened.key_id != key_id) return invalid;
  const bool expired = clock_.NowMicros() >= opened.expires_micros;
  return {KeyState::kActive, expired ? TokenState::kExpired : TokenState::kFits,
          std::move(opened.credential)};
}

}  // namespace stator::access

#include "fleet/messages.h"

#include <algorithm>
#include <utility>

namespace stator::fleet {
namespace {

constexpr size_t kMaxQueued = 1000;

}  // namespace

void Messages::On(std::string topic, Heard heard) {
  topics_[std::move(topic)] = {std::move(heard), std::make_unique<WorkerPool>(1, kMaxQueued)};
}

void Messages::Hear(std::string_view message, UniqueFunction<void()> acknowledge) {
  const size_t space = std::min(message.find(' '), message.size());
  const auto topic = topics_.find(message.substr(0, space));
  if (topic == topics_.end()) return acknowledge();
  auto shared = std::make_shared<UniqueFunction<void()>>(std::move(acknowledge));
  UniqueFunction<void()> task = [&heard = topic->second.heard, shared,
                                 text = std::string(message.substr(std::min(space + 1, message.size())))] {
    heard(text);
    (*shared)();
  };
  if (!topic->second.thread->TryPost(task)) (*shared)();
}

Status Messages::Announce(std::string_view topic, std::string_view text) {
  std::string message(topic);
  if (!text.empty()) message.append(" ").append(text);
  return bulletin_.Announce(message);
}

void Messages::Stop() {
  for (auto& [name, topic] : topics_) topic.thread->Stop();
}

}  // namespace stator::fleet

#include "fleet/messages.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace stator::fleet {
namespace {

constexpr size_t kMaxQueued = 1000;

}  // namespace

void Messages::On(std::string topic, Heard heard) {
  const MutexLock lock(mutex_);
  topics_[std::move(topic)] = {std::move(heard), std::make_unique<WorkerPool>(1, kMaxQueued)};
}

void Messages::Receive(std::string_view message, UniqueFunction<void()> acknowledge) {
  const size_t space = std::min(message.find(' '), message.size());
  Topic* topic = nullptr;
  {
    const MutexLock lock(mutex_);
    const auto found = topics_.find(message.substr(0, space));
    if (found != topics_.end() && !stopped_) topic = &found->second;
  }
  if (topic == nullptr) return acknowledge();
  auto shared = std::make_shared<UniqueFunction<void()>>(std::move(acknowledge));
  UniqueFunction<void()> task =
      [&heard = topic->heard, shared,
       text = std::string(message.substr(std::min(space + 1, message.size())))] {
        heard(text);
        (*shared)();
      };
  if (!topic->thread->TryPost(task)) (*shared)();
}

Status Messages::Announce(std::string_view topic, std::string_view text) {
  std::string message(topic);
  if (!text.empty()) message.append(" ").append(text);
  return bulletin_.Announce(message);
}

void Messages::Stop() {
  std::vector<WorkerPool*> threads;
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    for (auto& [name, topic] : topics_) threads.push_back(topic.thread.get());
  }
  for (WorkerPool* thread : threads) thread->Stop();
}

}  // namespace stator::fleet

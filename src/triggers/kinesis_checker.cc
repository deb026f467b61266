#include "triggers/kinesis_checker.h"

#include <utility>

#include "base/mutex_wait.h"

namespace stator::triggers {

void KinesisChecker::Start() {
  thread_ = std::thread([this] { Run(); });
}

void KinesisChecker::Stop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    wake_.notify_all();
  }
  cancel_();
  if (thread_.joinable()) thread_.join();
}

void KinesisChecker::Ask(const std::string& id, const std::string& arn) {
  const MutexLock lock(mutex_);
  Question& question = questions_[id];
  if (question.waits) return;
  question.arn = arn;
  question.turn = ++turns_;
  question.waits = true;
  question.outcome.reset();
  wake_.notify_all();
}

std::optional<Status> KinesisChecker::Take(const std::string& id) {
  const MutexLock lock(mutex_);
  const auto found = questions_.find(id);
  if (found == questions_.end()) return std::nullopt;
  return std::exchange(found->second.outcome, std::nullopt);
}

void KinesisChecker::Keep(const std::set<std::string>& ids) {
  const MutexLock lock(mutex_);
  std::erase_if(questions_, [&ids](const auto& each) { return !ids.contains(each.first); });
}

std::string KinesisChecker::Next() const {
  std::string next;
  const Question* first = nullptr;
  for (const auto& [id, question] : questions_) {
    if (!question.waits) continue;
    if (first != nullptr &&
        std::pair(first->asked, first->turn) < std::pair(question.asked, question.turn))
      continue;
    first = &question;
    next = id;
  }
  return next;
}

void KinesisChecker::Run() {
  while (true) {
    std::string id, arn;
    {
      UniqueMutexLock lock(mutex_);
      wake_.wait(lock, [this, &id]() REQUIRES(mutex_) {
        id = Next();
        return stopped_ || !id.empty();
      });
      if (stopped_) return;
      Question& question = questions_[id];
      arn = question.arn;
      ++question.asked;
    }
    Status outcome = check_(arn);
    const MutexLock lock(mutex_);
    const auto found = questions_.find(id);
    if (found == questions_.end()) continue;
    found->second.waits = false;
    found->second.outcome = std::move(outcome);
  }
}

}  // namespace stator::triggers

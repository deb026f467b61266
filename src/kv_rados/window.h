// Decides how many operations of a process are under way at a time. With fewer of them each carries
// more requests, where that pays. Internal to the room.
//
// Requests that wait for the next operation on their object go together into it. With more objects
// than requests at a time hardly any ever do: each operation carries one. Where the machine or the
// OSDs have more to do than they can, it is better to have fewer operations under way: those that
// wait grow. The more so if they go in bursts, the next once the last of the one before has ended:
// for what it served comes again at once and waits for the next, and who works for it is woken
// once. Where there is less to do, each wait is a loss, and in bursts everybody waits for the
// slowest. How long operations take does not tell these apart (a disk is slow as well), so the
// window tries. It has some levels, from open on down. While more want to be under way than the
// next narrower one lets through, the two take turns of some milliseconds; the one that served more
// requests in a second is kept for a while, then tried against its other neighbour, or again. (For
// requests of clients that wait for their answers: where they come anyway, all serve the same, and
// it stays open.)
//
// Unless narrower has proved better a few operations may be under way at any time, so who comes
// alone never waits. One that hangs leaves the window soon.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace stator::kv_rados {

// Not thread-safe. Times are ticks of a clock that does not go back, in microseconds.
class Window {
 public:
  using Ticket = uint64_t;

  // Asks to begin an operation. `sources`: the number of objects that have operations under way or
  // waiting requests. nullopt: it must wait until an operation has ended, or until OldestLeaves.
  // The WaitQueue decides which waiting one is next.
  std::optional<Ticket> Begin(int64_t now, size_t sources);
  // Notes that the operation has ended and has answered `served` requests.
  void Ended(Ticket ticket, int64_t now, size_t served);
  // Gives the ticket back, because the operation is not sent.
  void GiveBack(Ticket ticket);
  // When an operation that is under way will be taken for hanging, so that Begin may be asked again
  // although none ended.
  std::optional<int64_t> OldestLeaves() const;

  size_t under_way() const { return under_way_.size(); }  // without those that hang
  // 0: open. Higher: narrower.
  int level() const { return level_; }
  // What a level lets through.
  static size_t Width(int level, size_t sources);
  // Whether it does so in bursts.
  static constexpr bool InBursts(int level) { return level >= 2; }

  static constexpr int kLevels = 4;
  // A turn of a trial ends when it has taken kTurnMicros and kTurnRequests requests have been
  // served.
  static constexpr int64_t kTurnMicros = 20'000;
  static constexpr size_t kTurnRequests = 64;
  static constexpr int kTurns = 16;
  // The time for which the result of a trial is used. Each trial with the same result doubles it;
  // if the result is certain, it becomes eight times as long.
  static constexpr int64_t kHoldMicros = 1'000'000, kMaxHoldMicros = 16'000'000;
  // After this time without need of a trial, the last result is forgotten.
  static constexpr int64_t kRememberMicros = 60'000'000;
  // An operation counts as hanging when it takes kPatience times as long as usual, but at least
  // kPatienceMicros and at most kMaxPatienceMicros. (If many hang, a long time becomes usual.)
  static constexpr int64_t kPatience = 8, kPatienceMicros = 10'000, kMaxPatienceMicros = 500'000;

 private:
  struct Tally {
    double requests = 0;
    double micros = 0;
    double rate() const { return micros > 0 ? requests / micros : 0; }
  };
  // Two neighbours, and what trials between them found.
  struct Pair {
    Tally wide, narrow;
    std::optional<bool> found;  // that narrow is better, by the last trial
    int64_t hold_micros = 0;
    int64_t until = 0;  // that holds
  };
  void DropHanging(int64_t now);
  int64_t Patience() const;
  // Whether the level would let no more through now.
  bool IsFull(int level, size_t sources) const;
  void Narrow(int64_t now);
  void BeginTrial(int64_t now);
  void BeginTurn(int turn, int64_t now);
  void EndTurn(int64_t now);
  void Settle(bool narrow, bool clear, int64_t now);
  void Keep(int level, int64_t now);
  void Open(int64_t now);

  std::map<Ticket, int64_t> under_way_;  // and when it began
  Ticket last_ = 0;
  size_t burst_ = 0;          // how many have begun since none was under way
  int64_t usual_micros_ = 0;  // of an operation, a moving mean
  int level_ = 0;
  int64_t until_ = 0;  // that is kept

  int turn_ = -1;        // of a trial; -1: there is none
  size_t wide_ = 0;      // of which levels, this and the next, it is
  bool wanted_ = false;  // more than the narrower one lets through, in this turn
  Ticket before_ = 0;  // the last one that began in the turn before; a turn counts from when all of
                       // them have ended
  bool counting_ = false;
  int64_t turn_began_ = 0;
  size_t turn_requests_ = 0;
  int found_level_ = 0;  // by the last trial
  int64_t found_at_ = 0;
  std::array<Pair, kLevels - 1> pairs_;  // each with the level above it
};

}  // namespace stator::kv_rados

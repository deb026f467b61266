#include "link/ownership.h"

#include <gtest/gtest.h>

#include <map>

namespace stator::link {
namespace {

constexpr int64_t kSecond = 1'000'000;
const std::vector<std::string> kThree = {"a", "b", "c"};

kv::Unit PartNumber(int number) { return {{kv::Space::kItems, 7}, std::to_string(number)}; }

std::vector<std::string> Without(const std::string& id) {
  std::vector<std::string> others = kThree;
  std::erase(others, id);
  return others;
}

std::string OwnerAmongThree(const kv::Unit& unit) {
  std::string best = "a";
  for (const std::string& id : kThree) {
    if (Ownership::Weight(unit, id) > Ownership::Weight(unit, best)) best = id;
  }
  return best;
}

void Lose(Ownership& ownership, const kv::Unit& unit, int64_t now) {
  for (int i = 0; i < Ownership::kLostRaces; ++i) ownership.Lost(unit, now);
}

// A part of which another one than `id` is the owner.
kv::Unit PartNotOf(const std::string& id) {
  int number = 0;
  while (OwnerAmongThree(PartNumber(number)) == id) ++number;
  return PartNumber(number);
}

TEST(Ownership, PartWithoutLostRacesIsWrittenDirectly) {
  Ownership ownership("a");
  ownership.SetOthers(Without("a"), true);
  EXPECT_FALSE(ownership.active());
  EXPECT_EQ(ownership.OwnerOf(PartNotOf("a"), kSecond), "");
  ownership.Lost(PartNotOf("a"), kSecond);
  EXPECT_EQ(ownership.OwnerOf(PartNotOf("a"), kSecond), "");
}

TEST(Ownership, LoneServerForgetsLostRaces) {
  Ownership ownership("a");
  Lose(ownership, PartNumber(1), kSecond);
  EXPECT_FALSE(ownership.active());
}

TEST(Ownership, ServersAgreeOnOneOwner) {
  std::map<std::string, int> parts;
  for (int number = 0; number < 300; ++number) {
    const kv::Unit unit = PartNumber(number);
    const std::string owner = OwnerAmongThree(unit);
    ++parts[owner];
    for (const std::string& id : kThree) {
      Ownership ownership(id);
      ownership.SetOthers(Without(id), true);
      Lose(ownership, unit, kSecond);
      EXPECT_EQ(ownership.OwnerOf(unit, kSecond), id == owner ? "" : owner);
    }
  }
  for (const std::string& id : kThree) EXPECT_GT(parts[id], 60) << id;
}

TEST(Ownership, FewLossesOverALongTimeDoNotMakeAPartContended) {
  Ownership ownership("a");
  ownership.SetOthers(Without("a"), true);
  const kv::Unit unit = PartNotOf("a");
  for (int i = 1; i < 100; ++i) {
    ownership.Lost(unit, i * kSecond);
    EXPECT_EQ(ownership.OwnerOf(unit, i * kSecond), "");
  }
}

TEST(Ownership, WritesDirectlyAgainWhenNoOtherWrites) {
  Ownership ownership("a");
  ownership.SetOthers(Without("a"), true);
  const kv::Unit unit = PartNotOf("a");
  Lose(ownership, unit, kSecond);
  EXPECT_NE(ownership.OwnerOf(unit, kSecond), "");
  ownership.Told(unit, true, kSecond + 900'000);
  EXPECT_NE(ownership.OwnerOf(unit, kSecond + 1'800'000), "");
  ownership.Told(unit, false, kSecond + 1'800'000);
  EXPECT_EQ(ownership.OwnerOf(unit, kSecond + 1'800'000), "");
}

TEST(Ownership, WithoutAnswersContentionEnds) {
  Ownership ownership("a");
  ownership.SetOthers(Without("a"), true);
  const kv::Unit unit = PartNotOf("a");
  Lose(ownership, unit, kSecond);
  EXPECT_EQ(ownership.OwnerOf(unit, kSecond + Ownership::kWindowMicros), "");
}

TEST(Ownership, OwnerSaysWhetherOthersWrite) {
  Ownership ownership("a");
  ownership.SetOthers(Without("a"), true);
  const kv::Unit unit = PartNumber(1);
  int64_t now = kSecond;
  EXPECT_TRUE(ownership.NoteForwarded(unit, "b", now));  // not known yet
  EXPECT_TRUE(ownership.active());
  now += Ownership::kWindowMicros;
  EXPECT_FALSE(ownership.NoteForwarded(unit, "b", now));
  EXPECT_TRUE(ownership.NoteForwarded(unit, "c", now));
  EXPECT_TRUE(ownership.NoteForwarded(unit, "b", now + 1));
  now += 3 * Ownership::kWindowMicros;
  EXPECT_FALSE(ownership.NoteForwarded(unit, "b", now));
  EXPECT_EQ(ownership.OwnerOf(unit, now), "");  // a write of its own
  EXPECT_TRUE(ownership.NoteForwarded(unit, "b", now + 1));
}

// Otherwise two servers would hand the same kind of write to each other.
TEST(Ownership, LowestContendedPartDecides) {
  const std::vector<kv::Unit> units = {PartNumber(3), PartNumber(1), PartNumber(2)};
  for (const std::string& id : kThree) {
    Ownership ownership(id);
    ownership.SetOthers(Without(id), true);
    EXPECT_EQ(ownership.OwnerOf(units, kSecond).process, "");
    Lose(ownership, PartNumber(3), kSecond);
    Lose(ownership, PartNumber(2), kSecond);
    const std::string owner = OwnerAmongThree(PartNumber(2));
    const Ownership::Owner chosen = ownership.OwnerOf(units, kSecond);
    EXPECT_EQ(chosen.process, id == owner ? "" : owner);
    if (id != owner) {
      EXPECT_EQ(chosen.unit, 2u);
    }
  }
}

// What the owner of the lowest part writes itself, it has written to all of them.
TEST(Ownership, OwnWritesOfSeveralPartsAreToldToAskers) {
  const std::vector<kv::Unit> units = {PartNumber(1), PartNumber(2)};
  Ownership ownership("a");
  ownership.SetOthers(Without("a"), true);
  int64_t now = kSecond;
  for (const kv::Unit& unit : units) ownership.NoteForwarded(unit, "b", now);
  now += 3 * Ownership::kWindowMicros;
  ownership.OwnerOf(units, now);
  for (const kv::Unit& unit : units) EXPECT_TRUE(ownership.NoteForwarded(unit, "b", now + 1));
}

TEST(Ownership, ServerThatDrainsOwnsNothing) {
  Ownership ownership("a");
  ownership.SetOthers({"b"}, false);
  for (int number = 0; number < 20; ++number) {
    Lose(ownership, PartNumber(number), kSecond);
    EXPECT_EQ(ownership.OwnerOf(PartNumber(number), kSecond), "b");
  }
}

TEST(Ownership, ForgetsWhatIsNotUsed) {
  Ownership ownership("a");
  ownership.SetOthers(Without("a"), true);
  Lose(ownership, PartNumber(1), kSecond);
  ownership.Forget(kSecond + Ownership::kWindowMicros);
  EXPECT_TRUE(ownership.active());
  ownership.Forget(kSecond + 3 * Ownership::kWindowMicros);
  EXPECT_FALSE(ownership.active());
}

}  // namespace
}  // namespace stator::link

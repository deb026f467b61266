package dev.stator.junit;

import java.util.Objects;

/** What the tests of a class share: the server and, unless each test has its own, the account. A nested class has a scope within. */
final class Scope {
  final WithStator.Isolation isolation;
  final StatorServer server;
  final StatorAccount account; // null: each test has one
  final Scope parent; // null: not nested, or with an annotation of its own
  private final boolean restores;
  private final String snapshot;
  private String holder; // the test or nested class that uses the account now
  private String holderName;
  private boolean isTaken;

  Scope(WithStator annotation, StatorServer server, StatorAccount account) {
    this.isolation = annotation.isolation();
    this.server = server;
    this.account = account;
    this.parent = null;
    this.restores = annotation.restore() && account != null;
    this.snapshot = "junit";
  }

  Scope(Scope parent) {
    this.isolation = parent.isolation;
    this.server = parent.server;
    this.account = parent.account;
    this.parent = parent;
    this.restores = parent.restores;
    this.snapshot = parent.snapshot + ".nested";
  }

  /** Begins a test or a nested class: takes the snapshot, or returns to it. Throws if another one is under way. */
  synchronized void enter(String id, String name) {
    if (!restores) return;
    if (holder != null) {
      throw new StatorException(name + " runs while " + holderName + " does, and both use one account, which returns to its snapshot"
          + " before each test. Give each test an account, @WithStator(isolation = METHOD), leave the account as it is, restore = false,"
          + " or let the tests of the class run one after the other.");
    }
    if (isTaken) {
      account.restore(snapshot);
    } else {
      account.snapshot(snapshot);
      isTaken = true;
    }
    holder = id;
    holderName = name;
  }

  /** Ends what enter() began; nothing, if that threw. */
  synchronized void leave(String id) {
    if (Objects.equals(holder, id)) holder = null;
  }
}

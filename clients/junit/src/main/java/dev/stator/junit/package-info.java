/**
 * An extension of JUnit 5: a Stator server for tests, an account of its own for each class or test, and the state of before for each
 * test. {@link dev.stator.junit.WithStator} is where to begin.
 */
package dev.stator.junit;

package dev.genv.enforcer.observation;

import dev.genv.enforcer.facts.ProcessFacts.ExecutableFacts;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.ProcessId;
import org.jspecify.annotations.Nullable;

/**
 * A process that existed unchanged while its parts were read.
 *
 * @param uid its real uid; null if it could not be read, and then its membership is unknown too
 * @param membership the membership that its environ names
 * @param executable the program that it runs
 */
public record ObservedProcess(
        ProcessId id,
        @Nullable Long uid,
        String command,
        Membership membership,
        boolean kernelThread,
        Reading<ExecutableFacts> executable) {}

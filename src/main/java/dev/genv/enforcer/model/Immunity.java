package dev.genv.enforcer.model;

/**
 * Why a process is never ended, by facts of the kernel alone.
 *
 * @param reason a phrase for people, such as {@code it runs /usr/bin/nvidia-persistenced}
 */
public record Immunity(Kind kind, String reason) {

    /** What makes it immune. */
    public enum Kind {
        /** The machine needs it: a server of the GPUs, of the screen, the kernel, ourselves. */
        PROTECTED,
        /** It belongs to a user of whom nothing is ended. */
        EXEMPT
    }
}
